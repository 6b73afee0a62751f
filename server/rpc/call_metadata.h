// The caller's side of a call: does it still want the answer, and what did it
// send along?
#pragma once

#include <grpcpp/server_context.h>

#include <atomic>
#include <chrono>
#include <mutex>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace locus::server {

// Answers StopCheck questions for one call. Thread-safe and cheap to ask: the
// clock is read each time, the transport at most once in a while.
class CallerWatch {
 public:
  using Clock = std::chrono::steady_clock;

  explicit CallerWatch(grpc::ServerContext* context);

  // OK, CANCELLED or DEADLINE_EXCEEDED.
  absl::Status Check();

  // The end of time if there is none.
  Clock::time_point deadline() const { return deadline_; }

 private:
  grpc::ServerContext* const context_;
  Clock::time_point deadline_;
  std::atomic<bool> cancelled_{false};
  std::mutex mutex_;
  Clock::time_point next_question_;  // guarded by mutex_
};

// The caller's x-request-id if it is 1 to 128 visible ASCII characters, else a
// random one.
std::string RequestIdOf(const grpc::ServerContext& context);
bool IsRequestId(absl::string_view text);

// The caller's traceparent if it is one by the W3C's definition, else empty.
std::string TraceparentOf(const grpc::ServerContext& context);
bool IsTraceparent(absl::string_view text);

}  // namespace locus::server
