#include "server/rpc/cancellation_watch.h"

#include <grpc/support/time.h>

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace locus::server {
namespace {

constexpr std::chrono::milliseconds kTransportPollInterval(1);

}  // namespace

Clock::time_point DeadlineOf(const grpc::ServerContext& context,
                             Clock::time_point now) {
  // Conversions to std::chrono overflow for deadlines in the far future.
  constexpr int64_t kFarSeconds = int64_t{365} * 24 * 3600;
  const gpr_timespec left = gpr_time_sub(
      gpr_convert_clock_type(context.raw_deadline(), GPR_CLOCK_REALTIME),
      gpr_now(GPR_CLOCK_REALTIME));
  if (left.tv_sec > kFarSeconds) return Clock::time_point::max();
  return now + std::chrono::seconds(std::max(left.tv_sec, -kFarSeconds)) +
         std::chrono::nanoseconds(left.tv_nsec);
}

CancellationWatch::CancellationWatch(grpc::ServerContext* context)
    : context_(context),
      deadline_(DeadlineOf(*context, Clock::now())),
      next_poll_(Clock::now()) {}

absl::Status CancellationWatch::Check() {
  const auto now = Clock::now();
  if (now >= deadline_) {
    return absl::DeadlineExceededError(
        "the deadline passed before the result was ready");
  }
  // Only one thread polls the transport at a time; the others use the last
  // known result.
  if (mutex_.TryLock()) {
    if (now >= next_poll_) {
      next_poll_ = now + kTransportPollInterval;
      if (context_->IsCancelled()) cancelled_ = true;
    }
    mutex_.Unlock();
  }
  if (cancelled_) return absl::CancelledError("the call was cancelled");
  return absl::OkStatus();
}

}  // namespace locus::server
