#include "client/load/schedule.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace locus::client::load {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr int64_t kSecond = 1000 * 1000 * 1000;

std::vector<int64_t> All(Schedule& schedule) {
  std::vector<int64_t> times;
  while (const auto time = schedule.Next()) times.push_back(*time);
  return times;
}

std::vector<int64_t> All(const std::vector<RateSegment>& segments,
                         Arrivals arrivals, uint64_t seed = 1) {
  return All(*MakeSchedule(RateProfile(segments), arrivals, seed));
}

int64_t CountBetween(const std::vector<int64_t>& times, double from,
                     double to) {
  return std::count_if(times.begin(), times.end(), [=](int64_t time) {
    return time >= from * kSecond && time < to * kSecond;
  });
}

TEST(ScheduleTest, ConstantRateIsEvenWithoutDrift) {
  const auto times = All({{10, 3000, 3000}}, Arrivals::kRegular);
  ASSERT_EQ(times.size(), 30000);
  for (size_t i = 0; i < times.size(); ++i) {
    EXPECT_NEAR(static_cast<double>(times[i]), i * 1e9 / 3000, 1);
  }
}

TEST(ScheduleTest, PoissonGapsAreExponential) {
  const auto times = All({{100, 1000, 1000}}, Arrivals::kPoisson);
  // Six standard deviations of the count, which is Poisson distributed.
  EXPECT_NEAR(static_cast<double>(times.size()), 1e5, 6 * std::sqrt(1e5));
  std::vector<double> gaps(times.size());
  std::adjacent_difference(times.begin(), times.end(), gaps.begin());
  const double n = static_cast<double>(gaps.size());
  const double mean = std::accumulate(gaps.begin(), gaps.end(), 0.0) / n;
  double squares = 0;
  for (const double gap : gaps) squares += (gap - mean) * (gap - mean);
  // The standard deviation of an exponential distribution equals its mean, and
  // the fraction above t is exp(-t / mean).
  EXPECT_NEAR(std::sqrt(squares / n) / mean, 1, 0.03);
  for (const double t : {0.1, 1.0, 3.0}) {
    const auto above = std::count_if(
        gaps.begin(), gaps.end(), [=](double gap) { return gap > t * mean; });
    EXPECT_NEAR(above / n, std::exp(-t), 0.01) << t;
  }
}

TEST(ScheduleTest, PoissonCountsOfDisjointSpansAreIndependent) {
  const auto times = All({{1000, 50, 50}}, Arrivals::kPoisson);
  std::vector<double> counts;
  for (int i = 0; i < 1000; ++i)
    counts.push_back(CountBetween(times, i, i + 1));
  const double mean =
      std::accumulate(counts.begin(), counts.end(), 0.0) / counts.size();
  double variance = 0;
  double covariance = 0;
  for (size_t i = 0; i + 1 < counts.size(); ++i) {
    variance += (counts[i] - mean) * (counts[i] - mean);
    covariance += (counts[i] - mean) * (counts[i + 1] - mean);
  }
  EXPECT_NEAR(variance / counts.size() / mean, 1, 0.25);
  EXPECT_NEAR(covariance / variance, 0, 0.15);
}

TEST(ScheduleTest, PoissonDependsOnSeed) {
  const std::vector<RateSegment> segments = {{1, 1000, 1000}};
  EXPECT_EQ(All(segments, Arrivals::kPoisson, 5),
            All(segments, Arrivals::kPoisson, 5));
  EXPECT_NE(All(segments, Arrivals::kPoisson, 5),
            All(segments, Arrivals::kPoisson, 6));
}

TEST(ScheduleTest, FollowsSteps) {
  const auto times =
      All({{2, 100, 100}, {2, 400, 400}, {2, 50, 50}}, Arrivals::kRegular);
  EXPECT_EQ(CountBetween(times, 0, 2), 200);
  EXPECT_EQ(CountBetween(times, 2, 4), 800);
  EXPECT_EQ(CountBetween(times, 4, 6), 100);
  EXPECT_EQ(times.size(), 1100);
}

TEST(ScheduleTest, FollowsRamps) {
  for (const Arrivals arrivals : {Arrivals::kRegular, Arrivals::kPoisson}) {
    const auto times = All({{10, 0, 2000}}, arrivals);
    const double slack = arrivals == Arrivals::kRegular ? 1 : 6 * 62;
    EXPECT_NEAR(CountBetween(times, 0, 5), 2500, slack);
    EXPECT_NEAR(CountBetween(times, 5, 10), 7500, slack);
    EXPECT_TRUE(std::is_sorted(times.begin(), times.end()));
  }
}

TEST(ScheduleTest, ShardsPartitionTheSchedule) {
  const std::vector<RateSegment> segments = {{1, 500, 1500}};
  const auto whole = All(segments, Arrivals::kPoisson, 3);
  std::vector<int64_t> together;
  for (int i = 0; i < 3; ++i) {
    const auto shard = MakeShard(
        MakeSchedule(RateProfile(segments), Arrivals::kPoisson, 3), i, 3);
    const auto times = All(*shard);
    EXPECT_NEAR(times.size(), whole.size() / 3.0, 1);
    together.insert(together.end(), times.begin(), times.end());
  }
  std::sort(together.begin(), together.end());
  EXPECT_EQ(together, whole);
}

TEST(ReplayTest, ParsesOneTimePerLine) {
  const auto times = ParseReplay(
      "# from the log of Monday\n0\n0.25\n\n 300ms # a comment\n1\n");
  ASSERT_TRUE(times.ok()) << times.status();
  EXPECT_THAT(*times, ElementsAre(0, kSecond / 4, 3 * kSecond / 10, kSecond));
  EXPECT_EQ(All(*MakeReplay(*times)), *times);
}

TEST(ReplayTest, ErrorsNameTheLine) {
  const auto message = [](const char* text) {
    return std::string(ParseReplay(text).status().message());
  };
  EXPECT_THAT(message("0\nsoon\n"), HasSubstr("line 2: \"soon\""));
  EXPECT_THAT(message("1\n\n0.5\n"), HasSubstr("line 3: 0.5 is earlier"));
  EXPECT_THAT(message("# nothing\n"), HasSubstr("has no start times"));
}

}  // namespace
}  // namespace locus::client::load
