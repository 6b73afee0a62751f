// The handlers of locus.v1.EncodingService.
#pragma once

#include "locus/v1/encoding.pb.h"
#include "server/rpc/service.h"

namespace locus::server {

// Lists the schemes, and computes their encodings. Thread-safe.
class EncodingService final : public Service {
 public:
  static constexpr char kName[] = "locus.v1.EncodingService";

  // `state` must outlive the service.
  explicit EncodingService(ServerState* state);

 private:
  static absl::Status ListSchemes(RpcScope& call,
                                  const v1::ListSchemesRequest& request,
                                  Response<v1::ListSchemesResponse>* response);
  static absl::Status Encode(RpcScope& call, const v1::EncodeRequest& request,
                             Response<v1::EncodeResponse>* response);
};

}  // namespace locus::server
