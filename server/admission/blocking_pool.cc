#include "server/admission/blocking_pool.h"

#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <system_error>
#include <utility>

namespace locus::server {
namespace {
// The pool that the calling thread belongs to.
thread_local BlockingPool* own_pool = nullptr;
}  // namespace

void LowerThreadPriority() {
  // A larger value gives polling too much time under overload
  // (docs/adr/0003-polling-threads-and-priorities.md).
  constexpr int kNice = 2;
  static const int base = getpriority(PRIO_PROCESS, getpid());
  // On Linux this sets the priority of one thread, not of the process.
  setpriority(PRIO_PROCESS, static_cast<id_t>(syscall(SYS_gettid)),
              base + kNice);
}

BlockingPool::~BlockingPool() {
  std::vector<std::thread> threads;
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
    WakeIdle();
    threads.swap(threads_);
  }
  for (std::thread& thread : threads) thread.join();
}

void BlockingPool::Run(Task task) {
  const std::lock_guard lock(mutex_);
  waiting_.push_back(std::move(task));
  if (MayStart()) StartOne();
}

int BlockingPool::running() const {
  const std::lock_guard lock(mutex_);
  return running_;
}

bool BlockingPool::MayStart() const {
  return !waiting_.empty() && running_ < limits_.running;
}

void BlockingPool::StartOne() {
  if (!idle_.empty()) {
    Idle* const idle = idle_.back();
    idle_.pop_back();
    idle->awake = true;
    idle->wake.notify_one();
  } else if (static_cast<int>(threads_.size()) < limits_.threads) {
    try {
      threads_.emplace_back([this] { Loop(); });
    } catch (const std::system_error&) {
      // The system cannot start another thread; the next thread that finishes
      // takes the task.
      return;
    }
  } else {
    return;
  }
  ++running_;
}

// Wakes all idle threads so that they end, once no task is left.
void BlockingPool::WakeIdle() {
  if (!waiting_.empty()) return;
  for (Idle* const idle : idle_) {
    idle->awake = true;
    idle->wake.notify_one();
    ++running_;
  }
  idle_.clear();
}

// StartOne() has counted the thread as running.
void BlockingPool::Loop() {
  own_pool = this;
  LowerThreadPriority();
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

BlockingPool::Wait::Wait() {
  if (own_pool == nullptr) return;
  const std::lock_guard lock(own_pool->mutex_);
  --own_pool->running_;
  if (own_pool->MayStart()) own_pool->StartOne();
}

BlockingPool::Wait::~Wait() {
  if (own_pool == nullptr) return;
  const std::lock_guard lock(own_pool->mutex_);
  ++own_pool->running_;
}

}  // namespace locus::server
