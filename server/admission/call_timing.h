// When a call arrived and how long it may wait, by its deadline and by
// --max-queue-seconds.
#pragma once

#include <algorithm>

#include "server/base/clock.h"

namespace locus::server {

class CallTiming {
 public:
  CallTiming() = default;
  // deadline_seconds: from the arrival to the deadline of the call.
  CallTiming(Clock::time_point arrival, double deadline_seconds)
      : arrival_(arrival),
        deadline_seconds_(deadline_seconds),
        slack_seconds_(
            std::min(kMaxSlackSeconds, kSlackShare * deadline_seconds)) {}

  Clock::time_point arrival() const { return arrival_; }
  double AgeSeconds(Clock::time_point now) const {
    return SecondsBetween(arrival_, now);
  }
  // The slack that an estimated wait has to leave before the deadline.
  double slack_seconds() const { return slack_seconds_; }

  // The longest wait from `now` on after which the call can still start in
  // time, `slack` seconds before its deadline. Only a share of
  // max_queue_seconds counts, because estimates are uncertain; deferred calls
  // get a larger share than new ones, or they would never be admitted.
  double SecondsLeft(double max_queue_seconds, bool deferred, double slack,
                     Clock::time_point now) const {
    const double max_wait =
        (deferred ? kDeferredShare : kNewShare) * max_queue_seconds;
    return std::min(max_wait, deadline_seconds_ - slack) - AgeSeconds(now);
  }
  // Whether the deadline of the call, without --max-queue-seconds, permits such
  // a wait.
  bool DeadlineAllows(double wait, Clock::time_point now) const {
    return wait <= deadline_seconds_ - slack_seconds_ - AgeSeconds(now);
  }

 private:
  // Shares of --max-queue-seconds that a new and a deferred call may be
  // expected to wait.
  static constexpr double kNewShare = 0.6;
  static constexpr double kDeferredShare = 0.8;
  // Slack before the deadline: a share of the time from arrival to deadline,
  // and at most kMaxSlackSeconds.
  static constexpr double kSlackShare = 0.5;
  static constexpr double kMaxSlackSeconds = 0.25;

  Clock::time_point arrival_;
  double deadline_seconds_ = 0;
  double slack_seconds_ = 0;
};

}  // namespace locus::server
