#include "server/services/attention_service.h"

#include <memory>
#include <utility>

#include "core/attention/attention.h"
#include "core/attention/module.h"
#include "core/base/status.h"
#include "server/admission/request_limits.h"
#include "server/services/convert/convert.h"

namespace locus::server {
namespace {

using AttendComputation = Computation<v1::AttendResponse>;

// The job may refer to the scheme, so that both end together.
template <typename Job>
absl::StatusOr<AttendComputation> PrepareJob(RpcScope& call, Job job,
                                             std::unique_ptr<Scheme> scheme) {
  return call.Prepare<v1::AttendResponse>(
      std::move(job),
      [scheme = std::move(scheme)](AttentionOutputs outputs,
                                   Response<v1::AttendResponse>* response) {
        ToResponse(std::move(outputs), response);
      });
}

// Attention over the queries, keys and values of the request.
absl::StatusOr<AttendComputation> AttendHeads(
    RpcScope& call, std::unique_ptr<Scheme> scheme,
    const v1::AttendRequest& request) {
  LOCUS_ASSIGN_OR_RETURN(const AttentionInputs inputs,
                         ToAttentionInputs(request.heads()));
  LOCUS_ASSIGN_OR_RETURN(AttentionOptions options,
                         ToAttentionOptions(request.options()));
  LOCUS_ASSIGN_OR_RETURN(
      AttentionJob job,
      AttentionJob::Create(*scheme, inputs, std::move(options)));
  LOCUS_RETURN_IF_ERROR(CheckLimits(call.options(), request));
  return PrepareJob(call, std::move(job), std::move(scheme));
}

// Multi-head attention over the embeddings or tokens of the request.
absl::StatusOr<AttendComputation> AttendModule(
    RpcScope& call, std::unique_ptr<Scheme> scheme,
    const v1::AttendRequest& request) {
  LOCUS_ASSIGN_OR_RETURN(ModuleInputs inputs, ToModuleInputs(request.module()));
  LOCUS_ASSIGN_OR_RETURN(AttentionOptions options,
                         ToAttentionOptions(request.options()));
  LOCUS_ASSIGN_OR_RETURN(
      ModuleJob job,
      ModuleJob::Create(*scheme, std::move(inputs), std::move(options)));
  LOCUS_RETURN_IF_ERROR(CheckLimits(call.options(), request));
  return PrepareJob(call, std::move(job), std::move(scheme));
}

}  // namespace

AttentionService::AttentionService(ServerState* state) : Service(state, kName) {
  AddUnary<v1::AttendRequest, v1::AttendResponse>("Attend", &Attend);
}

absl::StatusOr<AttendComputation> AttentionService::Attend(
    RpcScope& call, const v1::AttendRequest& request) {
  LOCUS_RETURN_IF_ERROR(call.Reserve(SchemeBytes(request.scheme())));
  LOCUS_ASSIGN_OR_RETURN(auto scheme, ToScheme(request.scheme()));
  if (request.has_heads()) return AttendHeads(call, std::move(scheme), request);
  if (request.has_module()) {
    return AttendModule(call, std::move(scheme), request);
  }
  return InvalidField("heads",
                      "is not set, nor is module; one of them is needed");
}

}  // namespace locus::server
