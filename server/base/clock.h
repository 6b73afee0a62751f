// The server's monotonic clock, and conversions from and to seconds.
#pragma once

#include <algorithm>
#include <chrono>

namespace locus::server {

using Clock = std::chrono::steady_clock;

// Converts a std::chrono duration to seconds.
template <typename Duration>
double ToSeconds(Duration duration) {
  return std::chrono::duration<double>(duration).count();
}

// Seconds from `from` to `to`; negative if `to` is earlier.
inline double SecondsBetween(Clock::time_point from, Clock::time_point to) {
  return ToSeconds(to - from);
}

// `time` plus `seconds`, capped at about 30 years so that the sum cannot
// overflow.
inline Clock::time_point After(Clock::time_point time, double seconds) {
  constexpr double kMaxSeconds = 1e9;
  return time +
         std::chrono::duration_cast<Clock::duration>(
             std::chrono::duration<double>(std::min(seconds, kMaxSeconds)));
}

}  // namespace locus::server
