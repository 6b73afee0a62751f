// Limits the log lines of calls that were rejected, cancelled or invalid, of
// which a hostile or broken client can cause many thousand per second.
#pragma once

#include <grpcpp/support/status_code_enum.h>

#include <atomic>
#include <cstdint>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "server/base/clock.h"

namespace locus::server {

// Decides which calls are logged: all that succeeded or failed by a fault of
// the server, and of the others kMaxLines in each second. The caller passes the
// time. Thread-safe.
class CallLogSampler {
 public:
  static constexpr int kMaxLines = 100;

  struct Decision {
    bool log = true;
    // Calls of an earlier second that were not logged and not reported yet.
    int64_t not_logged = 0;
  };
  Decision Decide(grpc::StatusCode code, Clock::time_point now)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // Returns the calls that were not logged and not reported yet.
  int64_t TakeNotLogged();

 private:
  std::atomic<int64_t> not_logged_{0};
  absl::Mutex mutex_;
  Clock::time_point second_start_ ABSL_GUARDED_BY(mutex_){};
  int lines_ ABSL_GUARDED_BY(mutex_) = 0;
};

// Same as sampler.Decide(code, now).log. Also writes a line of the event
// calls_not_logged if a second with calls that were not logged has ended.
bool ShouldLogCall(CallLogSampler& sampler, grpc::StatusCode code,
                   Clock::time_point now);
// Writes that line, if there were such calls. Call it before the process exits.
void LogCallsNotLogged(CallLogSampler& sampler);

}  // namespace locus::server
