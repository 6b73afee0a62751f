#include "locus/client/retry.h"

#include <algorithm>
#include <cmath>

namespace locus::client {

absl::Duration WaitAfter(const RetryPolicy& policy, int attempt,
                         std::optional<absl::Duration> asked_by_server,
                         double uniform) {
  const absl::Duration backoff = std::min(
      policy.initial_backoff * std::exp2(attempt - 1), policy.max_backoff);
  const absl::Duration spread = backoff / 2;
  if (asked_by_server.has_value()) {
    return std::max(*asked_by_server, absl::ZeroDuration()) + uniform * spread;
  }
  return spread + uniform * spread;
}

}  // namespace locus::client
