// A mutex and a condition variable that clang's thread-safety analysis checks.
//
// They behave exactly like std::mutex and std::condition_variable, which carry
// no annotations in libstdc++. absl::Mutex is the usual choice in server and
// client. Use these classes where it is not suitable:
// - for timed waits that a change of the system time must not shorten or
//   extend: absl::CondVar waits for a time of the system clock, and
//   std::condition_variable for one of the steady clock;
// - in core, which does not link abseil's synchronization library. The thread
//   pool does its own spinning before it blocks.
#pragma once

#include <condition_variable>
#include <mutex>

#include "absl/base/thread_annotations.h"

namespace locus {

class ABSL_LOCKABLE Mutex {
 public:
  Mutex() = default;
  Mutex(const Mutex&) = delete;
  Mutex& operator=(const Mutex&) = delete;

  void Lock() ABSL_EXCLUSIVE_LOCK_FUNCTION() { mutex_.lock(); }
  void Unlock() ABSL_UNLOCK_FUNCTION() { mutex_.unlock(); }

 private:
  friend class ConditionVariable;
  std::mutex mutex_;
};

// Holds a mutex for the duration of a scope.
class ABSL_SCOPED_LOCKABLE MutexLock {
 public:
  explicit MutexLock(Mutex* mutex) ABSL_EXCLUSIVE_LOCK_FUNCTION(mutex)
      : mutex_(*mutex) {
    mutex_.Lock();
  }
  ~MutexLock() ABSL_UNLOCK_FUNCTION() { mutex_.Unlock(); }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

 private:
  Mutex& mutex_;
};

// `condition` is a function that is called with the mutex held. Annotate it
// with ABSL_EXCLUSIVE_LOCKS_REQUIRED, as in
//   changed_.Wait(&mutex_, [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
//     return is_done_;
//   });
class ConditionVariable {
 public:
  // Blocks until the condition holds.
  template <typename Condition>
  void Wait(Mutex* mutex, const Condition& condition)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) ABSL_NO_THREAD_SAFETY_ANALYSIS {
    std::unique_lock lock(mutex->mutex_, std::adopt_lock);
    variable_.wait(lock, condition);
    lock.release();
  }
  // Blocks until the condition holds, or until `timeout`, a duration of
  // <chrono>, has passed on the steady clock. Returns whether the condition
  // holds. For server and client: core measures no time.
  template <typename Duration, typename Condition>
  bool WaitFor(Mutex* mutex, const Duration& timeout,
               const Condition& condition)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) ABSL_NO_THREAD_SAFETY_ANALYSIS {
    std::unique_lock lock(mutex->mutex_, std::adopt_lock);
    const bool holds = variable_.wait_for(lock, timeout, condition);
    lock.release();
    return holds;
  }

  void NotifyOne() { variable_.notify_one(); }
  void NotifyAll() { variable_.notify_all(); }

 private:
  std::condition_variable variable_;
};

}  // namespace locus
