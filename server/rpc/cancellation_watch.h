// Deadline and cancellation of one call, as a CancellationCheck.
#pragma once

#include <grpcpp/server_context.h>

#include <atomic>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "server/base/clock.h"

namespace locus::server {

// The deadline of a call; Clock::time_point::max() if it has none, or one that
// is more than a year away.
Clock::time_point DeadlineOf(const grpc::ServerContext& context,
                             Clock::time_point now);

// Reports whether the client still waits for the response. Check() reads the
// clock every time, but polls the transport at most once per millisecond.
// Thread-safe. The context must outlive it.
class CancellationWatch {
 public:
  explicit CancellationWatch(grpc::ServerContext* context);

  // OK, CANCELLED or DEADLINE_EXCEEDED.
  absl::Status Check();

  // Clock::time_point::max() if the call has no deadline.
  Clock::time_point deadline() const { return deadline_; }

 private:
  grpc::ServerContext* const context_;
  const Clock::time_point deadline_;
  std::atomic<bool> cancelled_{false};
  absl::Mutex mutex_;
  Clock::time_point next_poll_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace locus::server
