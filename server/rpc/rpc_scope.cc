#include "server/rpc/rpc_scope.h"

#include <algorithm>
#include <limits>

#include "absl/strings/str_cat.h"
#include "core/base/shape.h"
#include "server/admission/rejection.h"
#include "server/base/allocator.h"

namespace locus::server {
namespace {

// Calls that used at least this much memory return freed memory to the system
// when they end.
constexpr int64_t kLargeCallBytes = int64_t{1} << 20;

}  // namespace

RpcScope::RpcScope(ServerState* state, const MethodInfo* method,
                   grpc::ServerContext* context,
                   const GuardedConnection* connection, Clock::time_point start)
    : state_(*state),
      context_(*context),
      connection_(*connection),
      record_(&state->metrics, method, context, start),
      cancellation_(context),
      memory_(&state->budget) {
  state_.drain.calls.Enter();
}

RpcScope::~RpcScope() {
  if (std::max(memory_.bytes(), record_.request_bytes()) >= kLargeCallBytes) {
    TrimFreedMemory();
  }
  state_.drain.calls.Leave();
}

absl::Status RpcScope::CheckServing() const {
  if (!state_.drain.draining) return absl::OkStatus();
  return Reject(RejectReason::kDraining, "the server is shutting down");
}

absl::Status RpcScope::CheckResponseBytes(int64_t bytes) const {
  const int64_t limit = state_.options.max_message_bytes;
  if (bytes <= limit) return absl::OkStatus();
  return LimitExceeded("response", "max_message_bytes",
                       absl::StrCat("would have ", bytes,
                                    " bytes; max_message_bytes is ", limit));
}

absl::Status RpcScope::Reserve(int64_t bytes) {
  const int64_t limit = state_.options.max_call_bytes;
  if (limit < state_.budget.budget_bytes() && bytes > limit - memory_.bytes()) {
    return LimitExceeded(
        "request", "max_call_bytes",
        absl::StrCat("needs more than ", memory_.bytes(), " + ", bytes,
                     " bytes of memory; max_call_bytes is ", limit));
  }
  LOCUS_RETURN_IF_ERROR(connection_.CheckBacklog());
  return memory_.Grow(bytes);
}

absl::Status RpcScope::CheckFlops(double flops) const {
  const double limit = state_.options.max_call_flops;
  if (flops <= limit) return absl::OkStatus();
  return LimitExceeded(
      "request", "max_call_flops",
      absl::StrCat("needs ", flops,
                   " multiplications and additions; max_call_flops is ",
                   limit));
}

absl::Status RpcScope::ReserveForJob(int64_t output_bytes,
                                     int64_t scratch_bytes) {
  LOCUS_RETURN_IF_ERROR(CheckResponseBytes(output_bytes));
  const auto bytes = CheckedAdd(output_bytes, scratch_bytes);
  return Reserve(bytes.value_or(std::numeric_limits<int64_t>::max()));
}

}  // namespace locus::server
