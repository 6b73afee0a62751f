#include "server/rpc/cancellation_watch.h"

#include <chrono>

namespace locus::server {
namespace {

constexpr std::chrono::milliseconds kTransportPollInterval(1);

}  // namespace

CancellationWatch::CancellationWatch(grpc::ServerContext* context)
    : context_(context) {
  const auto now = Clock::now();
  // A deadline in the far future would overflow the sum below.
  constexpr auto kFar = std::chrono::hours(24 * 365);
  const auto left = context->deadline() - std::chrono::system_clock::now();
  deadline_ = left > kFar
                  ? Clock::time_point::max()
                  : now + std::chrono::duration_cast<Clock::duration>(left);
  next_poll_ = now;
}

absl::Status CancellationWatch::Check() {
  const auto now = Clock::now();
  if (now >= deadline_) {
    return absl::DeadlineExceededError(
        "the deadline passed before the result was ready");
  }
  // Only one thread polls the transport at a time; the others use the last
  // known result.
  if (std::unique_lock lock(mutex_, std::try_to_lock);
      lock.owns_lock() && now >= next_poll_) {
    next_poll_ = now + kTransportPollInterval;
    if (context_->IsCancelled()) cancelled_ = true;
  }
  if (cancelled_) return absl::CancelledError("the call was cancelled");
  return absl::OkStatus();
}

}  // namespace locus::server
