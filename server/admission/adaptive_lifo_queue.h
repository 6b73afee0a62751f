// A queue of deferred calls: FIFO, and LIFO under overload.
//
// FIFO is fair and leaves every call time as long as the load is moderate.
// Under sustained overload it admits every call too late, because all of them
// wait for nearly their whole deadline. The queue then admits the newest call
// first, which has the most time left (adaptive LIFO: Maurer, "Fail at Scale",
// ACM Queue 2015). It switches when at least a tenth of its calls can no longer
// start in time, so that a few calls with hopeless deadlines change nothing for
// the others.
#pragma once

#include <algorithm>
#include <cstddef>
#include <list>
#include <map>

#include "server/admission/ewma.h"
#include "server/base/clock.h"

namespace locus::server {

// Entry is a type with a member `place` of type
// AdaptiveLifoQueue<Entry>::Place. The queue does not own its entries. The
// caller passes the time to every function. Not thread-safe.
template <typename Entry>
class AdaptiveLifoQueue {
 public:
  using Entries = std::list<Entry*>;
  using Time = Clock::time_point;
  using StartDeadlines = std::multimap<Time, Entry*>;

  // Where an entry is in the queue.
  struct Place {
    typename Entries::iterator position;
    typename StartDeadlines::iterator start_deadline;  // unless late
    bool is_late = false;
  };

  size_t size() const { return on_time_.size() + late_.size(); }
  bool empty() const { return size() == 0; }

  // `start_by` is the time after which the entry is late. `interval_guess`
  // starts the estimate of the seconds between two admissions.
  void Add(Entry* entry, Time start_by, double interval_guess, Time now) {
    if (empty()) interval_.Begin(interval_guess, now);
    entry->place = {on_time_.insert(on_time_.end(), entry),
                    start_deadlines_.emplace(start_by, entry), false};
  }
  void Remove(Entry* entry) {
    if (entry->place.is_late) {
      late_.erase(entry->place.position);
    } else {
      start_deadlines_.erase(entry->place.start_deadline);
      on_time_.erase(entry->place.position);
    }
  }
  // Removes an entry that is admitted, and records the admission.
  void Admit(Entry* entry, Time now) {
    interval_.Step(now);
    Remove(entry);
  }

  // The entry to admit next, or null if the queue is empty. `start` is when it
  // would start. Entries that would start too late become late for good.
  Entry* Next(Time start) {
    while (!start_deadlines_.empty() &&
           start_deadlines_.begin()->first < start) {
      Place& place = start_deadlines_.begin()->second->place;
      start_deadlines_.erase(start_deadlines_.begin());
      place.is_late = true;
      late_.splice(late_.end(), on_time_, place.position);
    }
    if (on_time_.empty()) return late_.empty() ? nullptr : late_.back();
    return IsOverloaded() ? on_time_.back() : on_time_.front();
  }
  // The oldest entry if it is the next to be admitted, otherwise null.
  const Entry* OldestIfNext() const {
    return on_time_.empty() || IsOverloaded() ? nullptr : on_time_.front();
  }
  // An entry for which `is_expired` holds, or null. Only the first entry of
  // either list is examined, which has waited longest or nearly so.
  template <typename IsExpired>
  Entry* FindExpired(const IsExpired& is_expired) const {
    for (const Entries* const entries : {&late_, &on_time_}) {
      if (!entries->empty() && is_expired(*entries->front())) {
        return entries->front();
      }
    }
    return nullptr;
  }

  // The estimated wait of another entry under FIFO. If no entry was admitted
  // for longer than the mean interval, the stall is expected to last as long
  // again.
  double EstimateWait(double interval_guess, Time now) const {
    if (empty()) return interval_guess;
    return static_cast<double>(size()) * interval_.seconds() +
           std::max(interval_.seconds(), interval_.since_last(now));
  }

 private:
  // Whether a tenth of the entries or more are late. Under FIFO the share stays
  // near that even at twice the capacity, because late calls soon time out.
  bool IsOverloaded() const { return 10 * late_.size() >= size(); }

  Entries on_time_;                 // oldest first
  StartDeadlines start_deadlines_;  // of the entries that are on time
  Entries late_;                    // in the order in which they became late
  Ewma interval_;  // between admissions, while the queue is not empty
};

}  // namespace locus::server
