#include "client/load/schedule.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "client/load/units.h"

namespace locus::client::load {
namespace {

// Evenly spaced start times.
class RegularSchedule final : public Schedule {
 public:
  explicit RegularSchedule(RateProfile profile)
      : profile_(std::move(profile)) {}

  std::optional<int64_t> Next() override {
    // Start times are computed from the index, since a sum of gaps would drift.
    const auto seconds = profile_.TimeOf(static_cast<double>(index_++));
    if (!seconds.has_value()) return std::nullopt;
    return FromSeconds(*seconds);
  }

 private:
  const RateProfile profile_;
  int64_t index_ = 0;
};

// A non-homogeneous Poisson process, by inversion (Cinlar, 1975): the arrivals
// of a process of rate 1 are mapped through the inverse of the cumulative rate.
class PoissonSchedule final : public Schedule {
 public:
  PoissonSchedule(RateProfile profile, uint64_t seed)
      : profile_(std::move(profile)), random_(seed) {}

  std::optional<int64_t> Next() override {
    // Uniform in [0, 1) with 53 bits. The distributions of the standard library
    // differ between platforms; its generators do not.
    const double uniform = static_cast<double>(random_() >> 11) * 0x1p-53;
    calls_ -= std::log1p(-uniform);
    const auto seconds = profile_.TimeOf(calls_);
    if (!seconds.has_value()) return std::nullopt;
    return FromSeconds(*seconds);
  }

 private:
  const RateProfile profile_;
  std::mt19937_64 random_;
  double calls_ = 0;
};

// A fixed list of start times.
class ReplaySchedule final : public Schedule {
 public:
  explicit ReplaySchedule(std::vector<int64_t> times)
      : times_(std::move(times)) {}

  std::optional<int64_t> Next() override {
    if (next_ == times_.size()) return std::nullopt;
    return times_[next_++];
  }

 private:
  const std::vector<int64_t> times_;
  size_t next_ = 0;
};

// Every count-th start time of another schedule.
class ShardSchedule final : public Schedule {
 public:
  ShardSchedule(std::unique_ptr<Schedule> schedule, int index, int count)
      : schedule_(std::move(schedule)), skip_(index), count_(count) {}

  std::optional<int64_t> Next() override {
    for (; skip_ > 0; --skip_) {
      if (!schedule_->Next().has_value()) return std::nullopt;
    }
    skip_ = count_ - 1;
    return schedule_->Next();
  }

 private:
  const std::unique_ptr<Schedule> schedule_;
  int skip_;
  const int count_;
};

}  // namespace

std::unique_ptr<Schedule> MakeSchedule(RateProfile profile, Arrivals arrivals,
                                       uint64_t seed) {
  if (arrivals == Arrivals::kPoisson) {
    return std::make_unique<PoissonSchedule>(std::move(profile), seed);
  }
  return std::make_unique<RegularSchedule>(std::move(profile));
}

std::unique_ptr<Schedule> MakeReplay(std::vector<int64_t> times) {
  return std::make_unique<ReplaySchedule>(std::move(times));
}

absl::StatusOr<std::vector<int64_t>> ParseReplay(absl::string_view text) {
  std::vector<int64_t> times;
  int line_number = 0;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    ++line_number;
    line = absl::StripAsciiWhitespace(line.substr(0, line.find('#')));
    if (line.empty()) continue;
    const absl::StatusOr<int64_t> nanos = ParseNanos(line);
    if (!nanos.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat("line ", line_number, ": ", nanos.status().message()));
    }
    if (!times.empty() && *nanos < times.back()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "line ", line_number, ": ", line,
          " is earlier than the previous line; times must be in order"));
    }
    times.push_back(*nanos);
  }
  if (times.empty()) return absl::InvalidArgumentError("has no start times");
  return times;
}

std::unique_ptr<Schedule> MakeShard(std::unique_ptr<Schedule> schedule,
                                    int index, int count) {
  return std::make_unique<ShardSchedule>(std::move(schedule), index, count);
}

}  // namespace locus::client::load
