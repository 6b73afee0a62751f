// A bounded blocking queue between one producer and one consumer thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <optional>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "core/base/mutex.h"

namespace locus::server {

// A FIFO queue whose items have weights, such as their size in bytes. Push()
// blocks while the total weight would exceed the maximum, which applies
// backpressure to the producer. The producer ends the queue with Finish(), the
// consumer with Close(). Thread-safe.
template <typename T>
class BoundedQueue {
 public:
  explicit BoundedQueue(int64_t max_weight) : max_weight_(max_weight) {}

  // Appends an item; blocks until there is room for it. An item heavier than
  // the maximum is accepted when the queue is empty. Returns false if there is
  // no room within the timeout, or the queue is closed.
  bool Push(T item, int64_t weight, std::chrono::milliseconds timeout)
      ABSL_LOCKS_EXCLUDED(mutex_) {
    const MutexLock lock(&mutex_);
    ++blocked_pushes_;
    const bool has_room = changed_.WaitFor(
        &mutex_, timeout, [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
          return closed_ || items_.empty() || weight_ + weight <= max_weight_;
        });
    --blocked_pushes_;
    if (closed_ || !has_room) return false;
    weight_ += weight;
    items_.push_back({std::move(item), weight});
    changed_.NotifyAll();
    return true;
  }

  // Blocks until Pop() would return at once. Returns false if that is not the
  // case within the timeout.
  bool Await(std::chrono::milliseconds timeout) const
      ABSL_LOCKS_EXCLUDED(mutex_) {
    const MutexLock lock(&mutex_);
    return changed_.WaitFor(&mutex_, timeout,
                            [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
                              return finished_ || !items_.empty();
                            });
  }

  // Removes the first item; blocks until there is one. Returns nullopt once the
  // queue is finished and empty.
  std::optional<T> Pop() ABSL_LOCKS_EXCLUDED(mutex_) {
    const MutexLock lock(&mutex_);
    changed_.Wait(&mutex_, [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
      return finished_ || !items_.empty();
    });
    if (items_.empty()) return std::nullopt;
    Entry entry = std::move(items_.front());
    items_.pop_front();
    weight_ -= entry.weight;
    changed_.NotifyAll();
    return std::move(entry.item);
  }

  // Declares that no further item will be pushed.
  void Finish() ABSL_LOCKS_EXCLUDED(mutex_) {
    const MutexLock lock(&mutex_);
    finished_ = true;
    changed_.NotifyAll();
  }

  // Declares that no further item is wanted: discards the queued items, and
  // makes all pushes fail, including those that are blocked. Pop() still blocks
  // until Finish().
  void Close() ABSL_LOCKS_EXCLUDED(mutex_) {
    const MutexLock lock(&mutex_);
    closed_ = true;
    items_.clear();
    weight_ = 0;
    changed_.NotifyAll();
  }
  bool closed() const ABSL_LOCKS_EXCLUDED(mutex_) {
    const MutexLock lock(&mutex_);
    return closed_;
  }

  // The number of threads that are blocked in Push(). For tests.
  int blocked_pushes() const ABSL_LOCKS_EXCLUDED(mutex_) {
    const MutexLock lock(&mutex_);
    return blocked_pushes_;
  }

 private:
  struct Entry {
    T item;
    int64_t weight;
  };

  const int64_t max_weight_;
  mutable Mutex mutex_;
  mutable ConditionVariable changed_;
  std::deque<Entry> items_ ABSL_GUARDED_BY(mutex_);
  int64_t weight_ ABSL_GUARDED_BY(mutex_) = 0;
  int blocked_pushes_ ABSL_GUARDED_BY(mutex_) = 0;
  bool finished_ ABSL_GUARDED_BY(mutex_) = false;
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace locus::server
