#include "server/validate.h"

#include <algorithm>
#include <limits>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "core/base/status.h"
#include "server/address.h"
#include "server/machine.h"

namespace locus::server {
namespace {

constexpr int kMaxThreads = 1024;
constexpr int kMaxQueuedCalls = 100'000;
constexpr double kMaxGraceSeconds = 86400;
constexpr int kMaxEvaluations = 64;
constexpr double kMaxEvaluationFlops = 1e21;

template <typename T>
absl::Status InRange(absl::string_view flag, T value, T min, T max) {
  // Written so that a NaN is out of range.
  if (value >= min && value <= max) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(flag, " is ", value, "; must be from ", min, " to ", max));
}

absl::Status Flagged(absl::string_view flag, const absl::Status& status) {
  if (status.ok()) return status;
  return absl::InvalidArgumentError(absl::StrCat(flag, ": ", status.message()));
}

}  // namespace

absl::Status Validate(const ServerOptions& options) {
  if (!options.listen.empty()) {
    LOCUS_RETURN_IF_ERROR(
        Flagged("--listen", CheckListenAddress(options.listen)));
  }
  if (!options.http.empty()) {
    LOCUS_RETURN_IF_ERROR(
        Flagged("--http", ParseAddress(options.http).status()));
  }
  LOCUS_RETURN_IF_ERROR(InRange("--threads", options.threads, 0, kMaxThreads));
  LOCUS_RETURN_IF_ERROR(InRange("--max-queued-calls", options.max_queued_calls,
                                0, kMaxQueuedCalls));
  // gRPC and protobuf count message sizes in 32 bits.
  LOCUS_RETURN_IF_ERROR(InRange("--max-message-bytes",
                                options.max_message_bytes, int64_t{1024},
                                int64_t{std::numeric_limits<int32_t>::max()}));
  if (options.memory_budget_bytes != 0) {
    LOCUS_RETURN_IF_ERROR(InRange("--memory-budget-bytes",
                                  options.memory_budget_bytes, int64_t{1} << 20,
                                  int64_t{1} << 50));
  }
  LOCUS_RETURN_IF_ERROR(InRange("--max-evaluations", options.max_evaluations, 0,
                                kMaxEvaluations));
  LOCUS_RETURN_IF_ERROR(InRange("--max-evaluation-flops",
                                options.max_evaluation_flops, 1.0,
                                kMaxEvaluationFlops));
  return InRange("--grace-seconds", options.grace_seconds, 0.0,
                 kMaxGraceSeconds);
}

ServerOptions WithDefaults(ServerOptions options) {
  if (options.threads == 0) options.threads = AvailableCpus();
  if (options.memory_budget_bytes == 0) {
    options.memory_budget_bytes = AvailableMemoryBytes() / 2;
  }
  return options;
}

}  // namespace locus::server
