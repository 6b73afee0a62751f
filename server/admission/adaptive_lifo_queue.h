// Calls of one method that are held at the door, and who of them is next.
//
// The first to come is let in first, as long as that leaves most of them time.
// If it does not, all would be let in too late: then the last to come is, which
// has the most time left. Few that had no time from the beginning do not make
// the others wait.
#pragma once

#include <algorithm>
#include <cstddef>
#include <list>
#include <map>

#include "server/admission/ewma.h"

namespace locus::server {

// A Call has a member `place`, a Crowd<Call>::Place.
template <typename Call>
class Crowd {
 public:
  using Calls = std::list<Call*>;
  using Time = PaceClock::time_point;
  using Limits = std::multimap<Time, Call*>;

  struct Place {
    typename Calls::iterator at;
    typename Limits::iterator limit;  // of one that is not late
    bool is_late = false;
  };

  size_t size() const { return in_time_.size() + late_.size(); }
  bool empty() const { return size() == 0; }

  // begin_by: when it is late. guess: at the seconds between two that are let
  // in.
  void Add(Call* call, Time begin_by, double guess, Time now) {
    if (empty()) pace_.Begin(guess, now);
    call->place = {in_time_.insert(in_time_.end(), call),
                   limits_.emplace(begin_by, call), false};
  }
  void Remove(Call* call) {
    if (call->place.is_late) {
      late_.erase(call->place.at);
    } else {
      limits_.erase(call->place.limit);
      in_time_.erase(call->place.at);
    }
  }
  // As Remove, of one that is let in.
  void LetIn(Call* call, Time now) {
    pace_.Step(now);
    Remove(call);
  }

  // Who is to be let in, or nobody. begins: when it would begin. Whoever would
  // have begun too late once counts as late from then on.
  Call* Next(Time begins) {
    while (!limits_.empty() && limits_.begin()->first < begins) {
      Place& place = limits_.begin()->second->place;
      limits_.erase(limits_.begin());
      place.is_late = true;
      late_.splice(late_.end(), in_time_, place.at);
    }
    if (in_time_.empty()) return late_.empty() ? nullptr : late_.back();
    return IsOverrun() ? in_time_.back() : in_time_.front();
  }
  // Who has waited longest, if that one is next; or nobody.
  const Call* OldestIfNext() const {
    return in_time_.empty() || IsOverrun() ? nullptr : in_time_.front();
  }
  // One that is to wait no longer, or nobody. Of each list the first has waited
  // for longest, or nearly so.
  template <typename IsOver>
  Call* NextToLeave(const IsOver& is_over) const {
    for (const Calls* const calls : {&late_, &in_time_}) {
      if (!calls->empty() && is_over(*calls->front())) return calls->front();
    }
    return nullptr;
  }

  // How long another would be held, the first to come first. A standstill lasts
  // as long again as it has lasted, as far as anybody knows.
  double Wait(double guess, Time now) const {
    if (empty()) return guess;
    return static_cast<double>(size()) * pace_.seconds() +
           std::max(pace_.seconds(), pace_.since_last(now));
  }

 private:
  // Whether a tenth or more is too late: if the first to come were first, even
  // with twice as many calls as can be done not many more would be. They give
  // up soon.
  bool IsOverrun() const { return 10 * late_.size() >= size(); }

  Calls in_time_;  // oldest first
  Limits limits_;  // of those
  Calls late_;     // in the order in which they were found to be
  Pace pace_;      // of letting in, while some are held
};

}  // namespace locus::server
