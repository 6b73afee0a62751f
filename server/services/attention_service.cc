#include "server/services/attention_service.h"

#include <utility>

#include "core/attention/attention.h"
#include "core/attention/module.h"
#include "core/base/status.h"
#include "server/admission/request_limits.h"
#include "server/services/convert/convert.h"

namespace locus::server {
namespace {

// Attention over the queries, keys and values of the request.
absl::StatusOr<AttentionOutputs> AttendHeads(RpcScope& call,
                                             const Scheme& scheme,
                                             const v1::AttendRequest& request) {
  LOCUS_ASSIGN_OR_RETURN(const AttentionInputs inputs,
                         ToAttentionInputs(request.heads()));
  LOCUS_ASSIGN_OR_RETURN(AttentionOptions options,
                         ToAttentionOptions(request.options()));
  LOCUS_ASSIGN_OR_RETURN(
      const AttentionJob job,
      AttentionJob::Create(scheme, inputs, std::move(options)));
  LOCUS_RETURN_IF_ERROR(CheckLimits(call.options(), request));
  return call.Run(job);
}

// Multi-head attention over the embeddings or tokens of the request.
absl::StatusOr<AttentionOutputs> AttendModule(
    RpcScope& call, const Scheme& scheme, const v1::AttendRequest& request) {
  LOCUS_ASSIGN_OR_RETURN(ModuleInputs inputs, ToModuleInputs(request.module()));
  LOCUS_ASSIGN_OR_RETURN(AttentionOptions options,
                         ToAttentionOptions(request.options()));
  LOCUS_ASSIGN_OR_RETURN(
      const ModuleJob job,
      ModuleJob::Create(scheme, std::move(inputs), std::move(options)));
  LOCUS_RETURN_IF_ERROR(CheckLimits(call.options(), request));
  return call.Run(job);
}

}  // namespace

AttentionService::AttentionService(ServerState* state) : Service(state, kName) {
  AddUnary<v1::AttendRequest, v1::AttendResponse>("Attend", &Attend);
}

absl::Status AttentionService::Attend(RpcScope& call,
                                      const v1::AttendRequest& request,
                                      Response<v1::AttendResponse>* response) {
  LOCUS_RETURN_IF_ERROR(call.Reserve(SchemeBytes(request.scheme())));
  LOCUS_ASSIGN_OR_RETURN(const auto scheme, ToScheme(request.scheme()));
  absl::StatusOr<AttentionOutputs> outputs =
      InvalidField("heads", "is not set, nor is module; one of them is needed");
  if (request.has_heads()) {
    outputs = AttendHeads(call, *scheme, request);
  } else if (request.has_module()) {
    outputs = AttendModule(call, *scheme, request);
  }
  if (!outputs.ok()) return outputs.status();
  ToResponse(*std::move(outputs), response);
  return absl::OkStatus();
}

}  // namespace locus::server
