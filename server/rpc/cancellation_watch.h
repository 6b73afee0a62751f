// Deadline and cancellation of one call, as a CancellationCheck.
#pragma once

#include <grpcpp/server_context.h>

#include <atomic>
#include <mutex>

#include "absl/status/status.h"
#include "server/base/clock.h"

namespace locus::server {

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
  Clock::time_point deadline_;
  std::atomic<bool> cancelled_{false};
  std::mutex mutex_;
  Clock::time_point next_poll_;  // guarded by mutex_
};

}  // namespace locus::server
