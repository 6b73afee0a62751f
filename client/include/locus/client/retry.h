// Retries with exponential backoff and jitter.
#pragma once

#include <optional>

#include "absl/time/time.h"

namespace locus::client {

// Retry policy of a client. Calls that end in UNAVAILABLE (no connection,
// overload, draining), or that a server cancels while it shuts down, are
// retried; other errors are final. Retries are safe because all calls are pure
// computations. With several servers a retry goes to the next server, and the
// backoff only applies once every server has been tried.
struct RetryPolicy {
  // Maximum number of attempts, including the first; 1 disables retries.
  int max_attempts = 4;
  // Backoff after the first attempt. Doubles with each further attempt.
  absl::Duration initial_backoff = absl::Milliseconds(100);
  absl::Duration max_backoff = absl::Seconds(5);
};

// Returns the delay after attempt number `attempt` (counted from 1) has failed.
// `server_delay` is the delay that the server asked for, if any; the result is
// never shorter. `uniform` in [0, 1) is a random number that adds jitter, so
// that clients that were rejected together do not retry together.
absl::Duration RetryBackoff(const RetryPolicy& policy, int attempt,
                            std::optional<absl::Duration> server_delay,
                            double uniform);

}  // namespace locus::client
