#include "server/config/validate.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "core/base/status.h"
#include "core/encoding/scheme.h"
#include "server/config/address.h"
#include "server/net/authentication.h"
#include "server/net/listener.h"
#include "server/config/system_resources.h"

namespace locus::server {
namespace {

constexpr int kMaxThreads = 1024;
constexpr int kMaxQueuedCalls = 100'000;
constexpr double kMaxGraceSeconds = 86400;
constexpr double kMaxQueueSeconds = 86400;
constexpr int kMaxEvaluations = 64;
constexpr double kMaxEvaluationFlops = 1e21;
constexpr int kMaxConnections = 1'000'000;
constexpr double kMaxConnectionSeconds = 86400 * 20;  // milliseconds in 31 bits
constexpr int kMaxStreams = 1'000'000;

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

absl::Status Needs(absl::string_view flag, absl::string_view other) {
  return absl::InvalidArgumentError(absl::StrCat(flag, " needs ", other));
}

// Nothing is half safe: what is asked for in part is refused.
absl::Status ValidateSecurity(const ServerOptions& options) {
  const bool tls = !options.tls_cert.empty();
  const bool tokens = !options.auth_tokens.empty();
  if (!tls && !options.tls_key.empty()) return Needs("--tls-key", "--tls-cert");
  if (tls && options.tls_key.empty()) return Needs("--tls-cert", "--tls-key");
  if (!tls && !options.tls_client_ca.empty()) {
    return Needs("--tls-client-ca", "--tls-cert and --tls-key");
  }
  const auto exempt = ParseAuthExemptions(options.auth_exempt);
  if (!exempt.ok()) return exempt.status();
  if (!tokens && !options.auth_exempt.empty()) {
    return Needs("--auth-exempt", "--auth-tokens");
  }
  if (!tokens || options.allow_plaintext_tokens) return absl::OkStatus();
  if (!tls && !IsLocalAddress(options.listen)) {
    return absl::InvalidArgumentError(
        "--auth-tokens: tokens would come to --listen in plaintext from other "
        "machines; give --tls-cert and --tls-key, or say "
        "--allow-plaintext-tokens=true if something else encrypts");
  }
  if (!exempt->metrics && !IsLocalAddress(options.http)) {
    return absl::InvalidArgumentError(
        "--auth-tokens: tokens would come to --http in plaintext from other "
        "machines; give --auth-exempt=metrics, an --http on loopback, or say "
        "--allow-plaintext-tokens=true if something else encrypts");
  }
  return absl::OkStatus();
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
  LOCUS_RETURN_IF_ERROR(ValidateSecurity(options));
  LOCUS_RETURN_IF_ERROR(InRange("--max-connections", options.max_connections, 0,
                                kMaxConnections));
  if (options.max_connections > MostConnections()) {
    return absl::InvalidArgumentError(
        absl::StrCat("--max-connections is ", options.max_connections,
                     "; the descriptors of the process (ulimit -n) allow ",
                     MostConnections()));
  }
  for (const auto& [flag, value] :
       {std::pair{"--max-connection-idle-seconds",
                  options.max_connection_idle_seconds},
        std::pair{"--max-connection-age-seconds",
                  options.max_connection_age_seconds}}) {
    LOCUS_RETURN_IF_ERROR(InRange(flag, value, 0.0, kMaxConnectionSeconds));
  }
  LOCUS_RETURN_IF_ERROR(
      InRange("--max-streams", options.max_streams, 1, kMaxStreams));
  LOCUS_RETURN_IF_ERROR(InRange("--max-metadata-bytes",
                                options.max_metadata_bytes, int64_t{1024},
                                int64_t{1} << 20));
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
  LOCUS_RETURN_IF_ERROR(InRange(
      "--max-queue-seconds", options.max_queue_seconds, 0.0, kMaxQueueSeconds));
  for (const auto& [flag, value] :
       {std::pair{"--max-call-bytes", options.max_call_bytes},
        std::pair{"--max-elements", options.max_elements},
        std::pair{"--max-length", options.max_length}}) {
    LOCUS_RETURN_IF_ERROR(InRange(flag, value, int64_t{0}, int64_t{1} << 50));
  }
  LOCUS_RETURN_IF_ERROR(
      InRange("--max-heads", options.max_heads, int64_t{1}, kMaxHeadCount));
  LOCUS_RETURN_IF_ERROR(InRange("--max-call-flops", options.max_call_flops, 0.0,
                                kMaxEvaluationFlops));
  LOCUS_RETURN_IF_ERROR(InRange("--max-evaluations", options.max_evaluations, 0,
                                kMaxEvaluations));
  LOCUS_RETURN_IF_ERROR(InRange("--max-evaluation-flops",
                                options.max_evaluation_flops, 1.0,
                                kMaxEvaluationFlops));
  return InRange("--grace-seconds", options.grace_seconds, 0.0,
                 kMaxGraceSeconds);
}

ServerOptions WithDefaults(ServerOptions options) {
  if (options.max_connections == 0) {
    options.max_connections = UsualConnections();
  }
  if (options.threads == 0) options.threads = AvailableCpus();
  if (options.memory_budget_bytes == 0) {
    options.memory_budget_bytes = AvailableMemoryBytes() / 2;
  }
  if (options.max_call_bytes == 0) {
    options.max_call_bytes = options.memory_budget_bytes;
  }
  if (options.max_call_flops == 0) {
    constexpr double kFlopsPerSecond = 1e10;  // of one thread, any processor
    constexpr double kSeconds = 600;
    options.max_call_flops = kFlopsPerSecond * kSeconds * options.threads;
  }
  if (options.max_elements == 0) {
    options.max_elements =
        options.max_call_bytes / static_cast<int64_t>(sizeof(float));
  }
  if (options.max_length == 0) options.max_length = options.max_elements;
  return options;
}

}  // namespace locus::server
