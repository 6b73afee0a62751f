// A bounded blocking queue between one producer and one consumer thread.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <utility>

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
  bool Push(T item, int64_t weight, std::chrono::milliseconds timeout) {
    std::unique_lock lock(mutex_);
    ++blocked_pushes_;
    const bool has_room = changed_.wait_for(lock, timeout, [&] {
      return closed_ || items_.empty() || weight_ + weight <= max_weight_;
    });
    --blocked_pushes_;
    if (closed_ || !has_room) return false;
    weight_ += weight;
    items_.push_back({std::move(item), weight});
    changed_.notify_all();
    return true;
  }

  // Blocks until Pop() would return at once. Returns false if that is not the
  // case within the timeout.
  bool Await(std::chrono::milliseconds timeout) const {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, timeout,
                             [&] { return finished_ || !items_.empty(); });
  }

  // Removes the first item; blocks until there is one. Returns nullopt once the
  // queue is finished and empty.
  std::optional<T> Pop() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return finished_ || !items_.empty(); });
    if (items_.empty()) return std::nullopt;
    Entry entry = std::move(items_.front());
    items_.pop_front();
    weight_ -= entry.weight;
    changed_.notify_all();
    return std::move(entry.item);
  }

  // Declares that no further item will be pushed.
  void Finish() {
    const std::lock_guard lock(mutex_);
    finished_ = true;
    changed_.notify_all();
  }

  // Declares that no further item is wanted: discards the queued items, and
  // makes all pushes fail, including those that are blocked. Pop() still blocks
  // until Finish().
  void Close() {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    items_.clear();
    weight_ = 0;
    changed_.notify_all();
  }
  bool closed() const {
    const std::lock_guard lock(mutex_);
    return closed_;
  }

  // The number of threads that are blocked in Push(). For tests.
  int blocked_pushes() const {
    const std::lock_guard lock(mutex_);
    return blocked_pushes_;
  }

 private:
  struct Entry {
    T item;
    int64_t weight;
  };

  const int64_t max_weight_;
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  // All members below are guarded by mutex_.
  std::deque<Entry> items_;
  int64_t weight_ = 0;
  int blocked_pushes_ = 0;
  bool finished_ = false;
  bool closed_ = false;
};

}  // namespace locus::server
