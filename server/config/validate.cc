#include "server/config/validate.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "core/base/status.h"
#include "core/encoding/scheme.h"
#include "server/config/address.h"
#include "server/config/auth_exemptions.h"
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
// A server whose descriptors allow fewer connections does not start, unless
// --max-connections asks for few.
constexpr int kMinDefaultConnections = 16;
// gRPC stores these times as milliseconds in 32 bits.
constexpr double kMaxConnectionSeconds = 86400 * 20;
constexpr int kMaxStreams = 1'000'000;

template <typename T>
absl::Status InRange(absl::string_view flag, T value, T min, T max) {
  // Both comparisons are false for NaN, so NaN is rejected.
  if (value >= min && value <= max) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(flag, " is ", value, "; must be from ", min, " to ", max));
}

// Prefixes the message of an error with the name of the flag.
absl::Status WithFlag(absl::string_view flag, const absl::Status& status) {
  if (status.ok()) return status;
  return absl::InvalidArgumentError(absl::StrCat(flag, ": ", status.message()));
}

absl::Status RequiresFlag(absl::string_view flag, absl::string_view other) {
  return absl::InvalidArgumentError(absl::StrCat(flag, " needs ", other));
}

// Rejects incomplete settings of TLS and tokens, so that a server is never less
// secure than its operator intended.
absl::Status ValidateSecurity(const ServerOptions& options) {
  const bool tls = !options.tls_cert.empty();
  const bool tokens = !options.auth_tokens.empty();
  if (!tls && !options.tls_key.empty())
    return RequiresFlag("--tls-key", "--tls-cert");
  if (tls && options.tls_key.empty())
    return RequiresFlag("--tls-cert", "--tls-key");
  if (!tls && !options.tls_client_ca.empty()) {
    return RequiresFlag("--tls-client-ca", "--tls-cert and --tls-key");
  }
  const auto exempt = ParseAuthExemptions(options.auth_exempt);
  if (!exempt.ok()) return exempt.status();
  if (!tokens && !options.auth_exempt.empty()) {
    return RequiresFlag("--auth-exempt", "--auth-tokens");
  }
  if (!tokens || options.allow_plaintext_tokens) return absl::OkStatus();
  if (tls) return absl::OkStatus();
  if (!IsLocalAddress(options.listen)) {
    return absl::InvalidArgumentError(
        "--auth-tokens: other machines would send tokens to --listen in "
        "plaintext; set --tls-cert and --tls-key, or "
        "--allow-plaintext-tokens=true if another layer encrypts the traffic");
  }
  if (!exempt->metrics && !IsLocalAddress(options.http)) {
    return absl::InvalidArgumentError(
        "--auth-tokens: other machines would send tokens to --http in "
        "plaintext; set --tls-cert and --tls-key, or --auth-exempt=metrics, or "
        "--http to a loopback address, or --allow-plaintext-tokens=true if "
        "another layer encrypts the traffic");
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status Validate(const ServerOptions& options) {
  if (!options.listen.empty()) {
    LOCUS_RETURN_IF_ERROR(
        WithFlag("--listen", CheckListenAddress(options.listen)));
  }
  if (!options.http.empty()) {
    LOCUS_RETURN_IF_ERROR(
        WithFlag("--http", ParseAddress(options.http).status()));
  }
  LOCUS_RETURN_IF_ERROR(ValidateSecurity(options));
  LOCUS_RETURN_IF_ERROR(InRange("--max-connections", options.max_connections, 0,
                                kMaxConnections));
  if (options.max_connections > MaxConnections()) {
    return absl::InvalidArgumentError(
        absl::StrCat("--max-connections is ", options.max_connections,
                     "; the file descriptors of the process (ulimit -n) allow ",
                     MaxConnections()));
  }
  if (!options.listen.empty() && options.max_connections == 0 &&
      DefaultMaxConnections() < kMinDefaultConnections) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the file descriptors of the process (ulimit -n) allow only ",
        DefaultMaxConnections(), " connections; raise the limit to at least ",
        DescriptorsFor(kMinDefaultConnections),
        ", or set --max-connections to at most ", DefaultMaxConnections()));
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
  // gRPC and protobuf represent message sizes in 32 bits.
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
    options.max_connections = DefaultMaxConnections();
  }
  if (options.threads == 0) options.threads = AvailableCpus();
  if (options.memory_budget_bytes == 0) {
    options.memory_budget_bytes = AvailableMemoryBytes() / 2;
  }
  if (options.max_call_bytes == 0) {
    options.max_call_bytes = options.memory_budget_bytes;
  }
  if (options.max_call_flops == 0) {
    // Throughput of one thread on a slow processor.
    constexpr double kFlopsPerSecond = 1e10;
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
