#include "server/compute_gate.h"

#include <chrono>
#include <condition_variable>

#include "absl/strings/str_cat.h"
#include "server/status.h"

namespace locus::server {
namespace {
// How soon a caller that went away gives up its place in the queue.
constexpr std::chrono::milliseconds kPollInterval(5);
}  // namespace

struct ComputeGate::Waiter {
  std::condition_variable ready;
  bool granted = false;
};

ComputeGate::Slot::~Slot() {
  if (gate_ != nullptr) gate_->Leave();
}

ComputeGate::ComputeGate(int slots, int max_queued)
    : slots_(slots), max_queued_(max_queued) {}

absl::StatusOr<ComputeGate::Slot> ComputeGate::Enter(const StopCheck& stop) {
  std::unique_lock lock(mutex_);
  if (computing_ < slots_) {
    ++computing_;
    return Slot(this);
  }
  if (static_cast<int>(waiters_.size()) >= max_queued_) {
    return Shed(ShedReason::kQueueFull,
                absl::StrCat("the server is busy and ", max_queued_,
                             " calls are waiting already; try again"));
  }
  Waiter self;
  const auto place = waiters_.insert(waiters_.end(), &self);
  for (;;) {
    if (self.ready.wait_for(lock, kPollInterval,
                            [&] { return self.granted; })) {
      return Slot(this);
    }
    // `stop` may ask the network; nobody has to wait for that.
    lock.unlock();
    const absl::Status status = stop ? stop() : absl::OkStatus();
    lock.lock();
    if (status.ok()) continue;
    if (self.granted) {
      lock.unlock();
      Leave();
    } else {
      waiters_.erase(place);
    }
    return status;
  }
}

void ComputeGate::Leave() {
  const std::lock_guard lock(mutex_);
  if (waiters_.empty()) {
    --computing_;
    return;
  }
  // The slot goes to the first in the queue without becoming free in between,
  // so that nobody overtakes. Notified under the lock: the waiter may be gone
  // right after.
  Waiter* next = waiters_.front();
  waiters_.pop_front();
  next->granted = true;
  next->ready.notify_one();
}

int ComputeGate::queued() const {
  const std::lock_guard lock(mutex_);
  return static_cast<int>(waiters_.size());
}

int ComputeGate::computing() const {
  const std::lock_guard lock(mutex_);
  return computing_;
}

}  // namespace locus::server
