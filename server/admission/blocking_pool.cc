#include "server/admission/blocking_pool.h"

#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <system_error>
#include <utility>

namespace locus::server {
namespace {
thread_local Workers* own_workers = nullptr;
}  // namespace

void ComeSecond() {
  // Much less would let a crowd at the door take too much. Calls of a
  // millisecond at ten times the peak's rate, in rounds that took turns with 0:
  // at 5, 76 % of the peak where 0 left 87; at 2, 93 where 0 left 84.
  constexpr int kNice = 2;
  static const int usual = getpriority(PRIO_PROCESS, getpid());
  // Linux takes it for one thread, not the process.
  setpriority(PRIO_PROCESS, static_cast<id_t>(syscall(SYS_gettid)),
              usual + kNice);
}

Workers::~Workers() {
  std::vector<std::thread> threads;
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
    WakeIdle();
    threads.swap(threads_);
  }
  for (std::thread& thread : threads) thread.join();
}

void Workers::Run(Task task) {
  const std::lock_guard lock(mutex_);
  waiting_.push_back(std::move(task));
  if (MayStart()) StartOne();
}

bool Workers::MayStart() const {
  return !waiting_.empty() && running_ < limits_.running;
}

void Workers::StartOne() {
  if (!idle_.empty()) {
    Idle* const idle = idle_.back();
    idle_.pop_back();
    idle->awake = true;
    idle->wake.notify_one();
  } else if (static_cast<int>(threads_.size()) < limits_.threads) {
    try {
      threads_.emplace_back([this] { Loop(); });
    } catch (const std::system_error&) {
      return;  // none is to be had; whoever is done first does it
    }
  } else {
    return;
  }
  ++running_;
}

// Once there will be nothing to do, so that they find out.
void Workers::WakeIdle() {
  if (!waiting_.empty()) return;
  for (Idle* const idle : idle_) {
    idle->awake = true;
    idle->wake.notify_one();
    ++running_;
  }
  idle_.clear();
}

// Counted as running by whoever started it.
void Workers::Loop() {
  own_workers = this;
  ComeSecond();
  std::unique_lock lock(mutex_);
  for (;;) {
    while (!waiting_.empty() && running_ <= limits_.running) {
      {
        const Task task = std::move(waiting_.front());
        waiting_.pop_front();
        lock.unlock();
        task();
      }
      lock.lock();
    }
    --running_;
    if (ending_ && waiting_.empty()) return WakeIdle();
    Idle self;
    idle_.push_back(&self);
    self.wake.wait(lock, [&] { return self.awake; });
  }
}

Workers::Wait::Wait() {
  if (own_workers == nullptr) return;
  const std::lock_guard lock(own_workers->mutex_);
  --own_workers->running_;
  if (own_workers->MayStart()) own_workers->StartOne();
}

Workers::Wait::~Wait() {
  if (own_workers == nullptr) return;
  const std::lock_guard lock(own_workers->mutex_);
  ++own_workers->running_;
}

}  // namespace locus::server
