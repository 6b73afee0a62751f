// When to try again.
#pragma once

#include <optional>

#include "absl/time/time.h"

namespace locus::client {

// Calls that end in UNAVAILABLE (no connection, overload, draining), or that a
// server drops as it goes, are tried again; they all only compute, so that
// twice does no harm. Other errors are final. With several servers the next one
// is asked, at once until all have been.
struct RetryPolicy {
  // The first one included; 1 never tries again.
  int max_attempts = 4;
  // The wait after the first attempt; doubles with each one after it.
  absl::Duration initial_backoff = absl::Milliseconds(100);
  absl::Duration max_backoff = absl::Seconds(5);
};

// How long to wait after attempt number `attempt` (from 1) has failed. What the
// server asked for is a minimum. `uniform` in [0, 1) spreads clients out: they
// would otherwise all come back at the same moment.
absl::Duration WaitAfter(const RetryPolicy& policy, int attempt,
                         std::optional<absl::Duration> asked_by_server,
                         double uniform);

}  // namespace locus::client
