#include "client/load/histogram.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace locus::client::load {
namespace {

constexpr double kPercents[] = {0.01, 1, 25, 50, 90, 99, 99.9, 99.99, 100};

// Reference implementation: the percentile of a sorted list of all times.
int64_t ExactPercentile(const std::vector<int64_t>& sorted, double percent) {
  const auto rank = static_cast<int64_t>(
      std::ceil(percent / 100 * static_cast<double>(sorted.size()) - 1e-6));
  return sorted[std::max<int64_t>(rank, 1) - 1];
}

// Returns random times, uniform on a logarithmic scale from 1 us to 1 h.
std::vector<int64_t> AllMagnitudes(int count) {
  std::mt19937_64 random(7);
  std::uniform_real_distribution<double> exponent(3, std::log10(3.6e12));
  std::vector<int64_t> times(count);
  for (int64_t& time : times) {
    time = static_cast<int64_t>(std::pow(10, exponent(random)));
  }
  return times;
}

TEST(HistogramTest, PercentilesHaveThreeDigitsAtAllMagnitudes) {
  std::vector<int64_t> times = AllMagnitudes(20001);
  Histogram histogram;
  for (const int64_t time : times) histogram.Record(time);
  std::sort(times.begin(), times.end());
  for (const double percent : kPercents) {
    const int64_t exact = ExactPercentile(times, percent);
    EXPECT_GE(histogram.Percentile(percent), exact) << percent;
    EXPECT_LE(static_cast<double>(histogram.Percentile(percent)),
              static_cast<double>(exact) * 1.001)
        << percent;
  }
}

TEST(HistogramTest, BinsAreWithinOneThousandthOfTheirTimes) {
  for (int64_t time = 1; time < Histogram::kMaxNanos; time = time * 9 / 8 + 1) {
    for (const int64_t near : {time - 1, time, time + 1}) {
      Histogram histogram;
      histogram.Record(near);
      const int64_t bin = histogram.Bins().front().nanos;
      EXPECT_GE(bin, near);
      EXPECT_LE(static_cast<double>(bin - near), 0.001 * near);
    }
  }
}

TEST(HistogramTest, SmallTimesAreExact) {
  Histogram histogram;
  for (int64_t i = 1; i <= 1000; ++i) histogram.Record(i);
  EXPECT_EQ(histogram.Percentile(0), 1);
  EXPECT_EQ(histogram.Percentile(50), 500);
  EXPECT_EQ(histogram.Percentile(99.9), 999);
  EXPECT_EQ(histogram.Percentile(99.91), 1000);
  EXPECT_EQ(histogram.Percentile(100), 1000);
  EXPECT_EQ(histogram.AtRank(0), 1);
  EXPECT_EQ(histogram.AtRank(5000), 1000);
}

TEST(HistogramTest, MinMaxAndMeanAreExact) {
  Histogram histogram;
  histogram.Record(123456789);
  histogram.Record(987654321);
  EXPECT_EQ(histogram.min(), 123456789);
  EXPECT_EQ(histogram.max(), 987654321);
  EXPECT_EQ(histogram.mean(), 555555555);
  EXPECT_EQ(histogram.Percentile(100), 987654321);
}

TEST(HistogramTest, ClampsTimesOutOfRange) {
  Histogram histogram;
  histogram.Record(-5);
  histogram.Record(Histogram::kMaxNanos + 1);
  EXPECT_EQ(histogram.count(), 2);
  EXPECT_EQ(histogram.min(), 0);
  EXPECT_EQ(histogram.max(), Histogram::kMaxNanos);
}

TEST(HistogramTest, EmptyHistogramIsZero) {
  Histogram histogram;
  EXPECT_EQ(histogram.Percentile(99), 0);
  EXPECT_EQ(histogram.mean(), 0);
  EXPECT_TRUE(histogram.Bins().empty());
  histogram.Record(5);
  histogram.Clear();
  EXPECT_EQ(histogram.count(), 0);
  EXPECT_EQ(histogram.Percentile(50), 0);
}

TEST(HistogramTest, AddMergesTwoHistograms) {
  const std::vector<int64_t> times = AllMagnitudes(1000);
  Histogram whole;
  Histogram parts[2];
  for (size_t i = 0; i < times.size(); ++i) {
    whole.Record(times[i]);
    parts[i % 3 == 0].Record(times[i]);
  }
  parts[0].Add(parts[1]);
  parts[0].Add(Histogram());
  EXPECT_EQ(parts[0].count(), whole.count());
  EXPECT_EQ(parts[0].min(), whole.min());
  EXPECT_EQ(parts[0].max(), whole.max());
  EXPECT_NEAR(parts[0].mean() / whole.mean(), 1, 1e-12);
  for (const double percent : kPercents) {
    EXPECT_EQ(parts[0].Percentile(percent), whole.Percentile(percent));
  }
}

TEST(HistogramTest, FromBinsRestoresHistogram) {
  Histogram histogram;
  for (const int64_t time : AllMagnitudes(1000)) histogram.Record(time);
  const Histogram restored = Histogram::FromBins(
      histogram.Bins(),
      {.min = histogram.min(), .max = histogram.max(), .sum = histogram.sum()});
  EXPECT_EQ(restored.count(), histogram.count());
  EXPECT_EQ(restored.min(), histogram.min());
  EXPECT_EQ(restored.max(), histogram.max());
  EXPECT_EQ(restored.mean(), histogram.mean());
  for (const double percent : kPercents) {
    EXPECT_EQ(restored.Percentile(percent), histogram.Percentile(percent));
  }
}

TEST(HistogramTest, FromBinsIgnoresImpossibleExactValues) {
  const Histogram histogram =
      Histogram::FromBins({{5000, 2}}, {.min = -7, .max = 1, .sum = -1});
  EXPECT_EQ(histogram.Percentile(99), 5000);
  EXPECT_EQ(histogram.mean(), 5000);
}

}  // namespace
}  // namespace locus::client::load
