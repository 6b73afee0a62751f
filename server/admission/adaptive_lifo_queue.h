// A queue of deferred calls: first in, first out, and last in, first out under
// overload.
//
// FIFO is fair, and gives every call its turn as long as the load is moderate.
// Under sustained overload it serves every call too late, because all of them
// have waited for nearly all the time they have. The queue then takes the
// newest call first, which has the most time left (adaptive LIFO: Maurer, "Fail
// at Scale", ACM Queue 2015).
//
// Overload is detected as in CoDel (Nichols and Jacobson, "Controlling Queue
// Delay", ACM Queue 2012): the delay of the oldest call must exceed a target
// without interruption for an interval, so that bursts do not count. CoDel's
// target is a time; here it is a share of the time that the call may wait:
//
//   delay = (now - arrival) / (expiry - arrival)
//   overloaded  if  delay >= target at all times of [now - interval, now].
#pragma once

#include <cstddef>
#include <list>
#include <optional>

#include "server/base/clock.h"

namespace locus::server {

// Entry is a type with the members `arrival`, `expiry` (Clock::time_point) and
// `place` (std::list<Entry*>::iterator). The queue does not own its entries.
// The caller passes the time to every function. Not thread-safe.
template <typename Entry>
class AdaptiveLifoQueue {
 public:
  using Time = Clock::time_point;

  AdaptiveLifoQueue(double target, double interval_seconds)
      : target_(target), interval_seconds_(interval_seconds) {}

  bool empty() const { return entries_.empty(); }
  size_t size() const { return entries_.size(); }
  bool overloaded() const { return overloaded_; }

  void Add(Entry* entry) {
    entry->place = entries_.insert(entries_.end(), entry);
  }
  void Remove(Entry* entry) { entries_.erase(entry->place); }

  // The entry that has waited longest. The queue must not be empty.
  Entry* Oldest() const { return entries_.front(); }
  // The entry to serve next. The queue must not be empty.
  Entry* Next() const {
    return overloaded_ ? entries_.back() : entries_.front();
  }

  // Decides again whether the queue is overloaded. Call it whenever an entry is
  // taken, and from time to time.
  void Update(Time now) {
    if (entries_.empty() || DelayOf(*Oldest(), now) < target_) {
      above_since_.reset();
      overloaded_ = false;
      return;
    }
    if (!above_since_) above_since_ = now;
    if (SecondsBetween(*above_since_, now) >= interval_seconds_) {
      overloaded_ = true;
    }
  }

 private:
  static double DelayOf(const Entry& entry, Time now) {
    return SecondsBetween(entry.arrival, now) /
           SecondsBetween(entry.arrival, entry.expiry);
  }

  const double target_;
  const double interval_seconds_;
  std::list<Entry*> entries_;  // oldest first
  std::optional<Time> above_since_;
  bool overloaded_ = false;
};

}  // namespace locus::server
