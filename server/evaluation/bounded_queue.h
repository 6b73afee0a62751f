// A queue between one thread that makes things and one that takes them, with
// room for so much and no more.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <utility>

namespace locus::server {

// Thread-safe.
template <typename T>
class BoundedQueue {
 public:
  explicit BoundedQueue(int64_t max_weight) : max_weight_(max_weight) {}

  // Waits for room, but not for ever; what is heavier than all the room there
  // is waits until nothing else is in the queue. False if there was no room in
  // time, and without waiting once the queue is closed.
  bool Push(T item, int64_t weight, std::chrono::milliseconds patience) {
    std::unique_lock lock(mutex_);
    const bool has_room = changed_.wait_for(lock, patience, [&] {
      return closed_ || items_.empty() || weight_ + weight <= max_weight_;
    });
    if (closed_ || !has_room) return false;
    weight_ += weight;
    items_.push_back({std::move(item), weight});
    changed_.notify_all();
    return true;
  }

  // Waits until Pop would not, but not for ever; whether it would not.
  bool Await(std::chrono::milliseconds patience) const {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, patience,
                             [&] { return finished_ || !items_.empty(); });
  }

  // Waits for an item; none once the queue is finished and empty.
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

  // Nothing comes any more.
  void Finish() {
    const std::lock_guard lock(mutex_);
    finished_ = true;
    changed_.notify_all();
  }

  // Nothing is wanted any more: what is in the queue goes.
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

 private:
  struct Entry {
    T item;
    int64_t weight;
  };

  const int64_t max_weight_;
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  std::deque<Entry> items_;
  int64_t weight_ = 0;
  bool finished_ = false;
  bool closed_ = false;
};

}  // namespace locus::server
