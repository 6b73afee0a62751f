#include "tests/bench/side_by_side.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <utility>

namespace locus::bench {
namespace {

// Limits of the time slice of a contender, in seconds.
constexpr double kMinSlice = 0.01;
constexpr double kMaxSlice = 0.2;
constexpr double kMinRounds = 5;
constexpr double kMaxRounds = 51;
// A round that takes more seconds than this is not repeated.
constexpr double kLongRound = 10;
// A call that takes more seconds than this needs no warm-up.
constexpr double kLongCall = 0.1;

// Mean seconds per call.
double TimeOf(const std::function<void()>& run, int64_t calls) {
  using Clock = std::chrono::steady_clock;
  const auto start = Clock::now();
  for (int64_t i = 0; i < calls; ++i) run();
  return std::chrono::duration<double>(Clock::now() - start).count() /
         static_cast<double>(calls);
}

double Median(std::vector<double> values) {
  const auto middle = values.begin() + values.size() / 2;
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

}  // namespace

SideBySide::SideBySide(const std::vector<Contender>& contenders, double seconds)
    : seconds_(contenders.size()) {
  // The first call warms up. If it is short, the second call determines the
  // number of calls in a slice.
  std::vector<double> once;
  for (const Contender& contender : contenders) {
    work_.push_back(contender.work);
    once.push_back(TimeOf(contender.run, 1));
    if (once.back() < kLongCall) once.back() = TimeOf(contender.run, 1);
  }
  const double slice =
      std::clamp(*std::max_element(once.begin(), once.end()) / 4,
                 std::min(kMinSlice, seconds), kMaxSlice);
  std::vector<int64_t> calls;
  double round = 0;
  for (const double time : once) {
    calls.push_back(static_cast<int64_t>(std::ceil(slice / time)));
    round += time * static_cast<double>(calls.back());
  }
  const double rounds =
      seconds == 0 || round > kLongRound
          ? 1
          : std::clamp(seconds / round, kMinRounds, kMaxRounds);
  for (int r = 0; r < static_cast<int>(rounds); ++r) {
    for (size_t i = 0; i < contenders.size(); ++i) {
      seconds_[i].push_back(TimeOf(contenders[i].run, calls[i]));
    }
  }
}

double SideBySide::Seconds(size_t contender) const {
  return Median(seconds_[contender]);
}

double SideBySide::Rate(size_t contender) const {
  return work_[contender] / Seconds(contender);
}

double SideBySide::Ratio(size_t contender, size_t other) const {
  std::vector<double> ratios;
  for (size_t r = 0; r < seconds_[contender].size(); ++r) {
    ratios.push_back(work_[contender] / seconds_[contender][r] /
                     (work_[other] / seconds_[other][r]));
  }
  return Median(std::move(ratios));
}

}  // namespace locus::bench
