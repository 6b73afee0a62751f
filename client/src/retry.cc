#include "locus/client/retry.h"

#include <algorithm>
#include <cmath>

namespace locus::client {

absl::Duration RetryBackoff(const RetryPolicy& policy, int attempt,
                            std::optional<absl::Duration> server_delay,
                            double uniform) {
  const absl::Duration backoff = std::min(
      policy.initial_backoff * std::exp2(attempt - 1), policy.max_backoff);
  const absl::Duration jitter = uniform * (backoff / 2);
  if (server_delay.has_value()) {
    return std::max(*server_delay, absl::ZeroDuration()) + jitter;
  }
  return backoff / 2 + jitter;
}

}  // namespace locus::client
