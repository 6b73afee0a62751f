#include "server/services/encoding_service.h"

#include <utility>

#include "core/encoding/encode.h"
#include "core/encoding/registry.h"
#include "server/admission/request_limits.h"
#include "server/services/convert/convert.h"

namespace locus::server {

EncodingService::EncodingService(ServerState* state) : Service(state, kName) {
  AddUnary<v1::ListSchemesRequest, v1::ListSchemesResponse>("ListSchemes",
                                                            &ListSchemes);
  AddUnary<v1::EncodeRequest, v1::EncodeResponse>("Encode", &Encode);
}

absl::StatusOr<Computation<v1::ListSchemesResponse>>
EncodingService::ListSchemes(RpcScope&, const v1::ListSchemesRequest&) {
  Computation<v1::ListSchemesResponse> computation;
  computation.run = [](Response<v1::ListSchemesResponse>* response) {
    for (const SchemeInfo& info : AllSchemes()) {
      ToProto(info, response->message.add_schemes());
    }
    return absl::OkStatus();
  };
  return computation;
}

absl::StatusOr<Computation<v1::EncodeResponse>> EncodingService::Encode(
    RpcScope& call, const v1::EncodeRequest& request) {
  LOCUS_RETURN_IF_ERROR(call.Reserve(SchemeBytes(request.scheme())));
  LOCUS_ASSIGN_OR_RETURN(auto scheme, ToScheme(request.scheme()));
  LOCUS_ASSIGN_OR_RETURN(EncodeOptions options, ToEncodeOptions(request));
  LOCUS_ASSIGN_OR_RETURN(EncodeJob job,
                         EncodeJob::Create(*scheme, std::move(options)));
  // An empty result, for example without keys, needs no limits.
  if (job.output_bytes() > 0) {
    LOCUS_RETURN_IF_ERROR(
        CheckLimits(call.options(), request, scheme->site() == Site::kScores));
  }
  return call.Prepare<v1::EncodeResponse>(
      std::move(job),
      [scheme = std::move(scheme)](Encoding encoding,
                                   Response<v1::EncodeResponse>* response) {
        ToResponse(std::move(encoding), response);
      });
}

}  // namespace locus::server
