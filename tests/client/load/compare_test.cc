#include "client/load/compare.h"

#include <cmath>
#include <random>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace locus::client::load {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Returns a run of ten seconds with exponentially distributed latencies.
Result Exponential(double mean_nanos, int count, int seed) {
  Result result;
  std::mt19937_64 random(seed);
  std::exponential_distribution<double> time(1 / mean_nanos);
  for (int i = 0; i < count; ++i) {
    result.statistics.Add({.ended = static_cast<int64_t>(time(random))});
  }
  result.measured_seconds = 10;
  return result;
}

const ComparedFigure& Figure(const Comparison& comparison,
                             const std::string& name) {
  for (const ComparedFigure& figure : comparison.figures) {
    if (figure.name == name) return figure;
  }
  ADD_FAILURE() << "no " << name;
  return comparison.figures.front();
}

TEST(CompareTest, TwiceAsSlowIsWorse) {
  const Comparison comparison =
      Compare(Exponential(1e6, 20000, 1), Exponential(2e6, 20000, 2));
  for (const char* name : {"mean", "p50", "p90", "p99", "service p99"}) {
    EXPECT_EQ(Figure(comparison, name).verdict, Verdict::kWorse) << name;
    EXPECT_NEAR(Figure(comparison, name).Growth(), 1, 0.15) << name;
  }
  EXPECT_EQ(Figure(comparison, "throughput").before, 2000);
}

TEST(CompareTest, TwiceAsFastIsBetter) {
  const Comparison comparison =
      Compare(Exponential(2e6, 20000, 1), Exponential(1e6, 20000, 2));
  EXPECT_EQ(Figure(comparison, "p99").verdict, Verdict::kBetter);
}

TEST(CompareTest, SamplesOfOneDistributionDoNotDiffer) {
  int differ = 0;
  for (int seed = 0; seed < 40; ++seed) {
    const Comparison comparison = Compare(Exponential(1e6, 3000, 2 * seed),
                                          Exponential(1e6, 3000, 2 * seed + 1));
    for (const char* name : {"p99", "mean"}) {
      const Verdict verdict = Figure(comparison, name).verdict;
      differ += verdict == Verdict::kBetter || verdict == Verdict::kWorse;
    }
  }
  // Requiring that two 95 % intervals do not overlap is stricter than a test at
  // the 5 % level.
  EXPECT_LE(differ, 4);
}

TEST(CompareTest, FewCallsAreNotSignificant) {
  const Comparison comparison =
      Compare(Exponential(1e6, 20, 1), Exponential(1.2e6, 20, 2));
  EXPECT_EQ(Figure(comparison, "p99.99").verdict, Verdict::kTooFewCalls);
  EXPECT_EQ(Figure(comparison, "p99").verdict, Verdict::kUncertain);
}

TEST(CompareTest, LargeDifferencesWithinTheIntervalsAreNotCalledSame) {
  const Comparison same =
      Compare(Exponential(1e6, 1000, 1), Exponential(1e6, 1000, 1));
  EXPECT_EQ(Figure(same, "p99").verdict, Verdict::kSame);
  const Comparison uncertain =
      Compare(Exponential(1e6, 50, 1), Exponential(1.3e6, 50, 1));
  EXPECT_NEAR(Figure(uncertain, "p99").Growth(), 0.3, 0.01);
  EXPECT_EQ(Figure(uncertain, "p99").verdict, Verdict::kUncertain);
}

TEST(CompareTest, HasSixHeadlineFigures) {
  std::vector<std::string> names;
  const Comparison comparison =
      Compare(Exponential(1e6, 100, 1), Exponential(1e6, 100, 2));
  for (const ComparedFigure& figure : comparison.figures) {
    if (figure.headline) names.push_back(figure.name);
  }
  EXPECT_THAT(names, ElementsAre("throughput", "errors", "mean", "p50", "p99",
                                 "p99.9"));
}

TEST(CompareTest, OmitsTimesMissingFromOneRun) {
  Result before = Exponential(1e6, 100, 1);
  before.statistics.Add({.ended = 5, .queue_nanos = 1});
  const Comparison comparison = Compare(before, Exponential(1e6, 100, 2));
  for (const ComparedFigure& figure : comparison.figures) {
    EXPECT_THAT(figure.name, ::testing::Not(HasSubstr("queue")));
  }
}

TEST(CompareTest, ReportsDifferentSetups) {
  Result before = Exponential(1e6, 10, 1);
  Result after = before;
  EXPECT_THAT(Compare(before, after).differences, IsEmpty());
  before.setup.load = "100/s constant";
  after.setup.load = "200/s constant";
  after.setup.connections = 4;
  EXPECT_THAT(Compare(before, after).differences,
              ElementsAre("load: 100/s constant and 200/s constant",
                          "connections: 0 and 4"));
}

TEST(GrowthLimitTest, ReportsGrowthAboveLimit) {
  const Comparison comparison =
      Compare(Exponential(1e6, 20000, 1), Exponential(1.5e6, 20000, 2));
  const auto violations = [&comparison](const char* text) {
    return Violations({ParseGrowthLimit(text).value()}, comparison);
  };
  EXPECT_THAT(violations("p50=60%"), IsEmpty());
  EXPECT_THAT(violations("p50=10%"), ElementsAre(HasSubstr("p50 is ")));
  EXPECT_THAT(violations("throughput=0%"), IsEmpty());
  EXPECT_THAT(violations("queue p99=10%"),
              ElementsAre("queue p99 is not available for both runs"));
}

TEST(GrowthLimitTest, LowerThroughputIsWorse) {
  const Comparison comparison =
      Compare(Exponential(1e6, 2000, 1), Exponential(1e6, 1000, 2));
  EXPECT_THAT(
      Violations({ParseGrowthLimit("throughput=10%").value()}, comparison),
      ElementsAre("throughput is 50% worse, above 10%"));
}

TEST(GrowthLimitTest, IgnoresInsignificantGrowth) {
  const Comparison comparison =
      Compare(Exponential(1e6, 20, 1), Exponential(1.3e6, 20, 2));
  EXPECT_THAT(Violations({ParseGrowthLimit("p99=0%").value()}, comparison),
              IsEmpty());
}

TEST(GrowthLimitTest, RejectsInvalidLimits) {
  for (const char* text : {"", "p99", "p98=10%", "p99=", "p99=-1%", "p99=x"}) {
    EXPECT_FALSE(ParseGrowthLimit(text).ok()) << text;
  }
  EXPECT_EQ(ParseGrowthLimit("p99.9=150%").value().growth, 1.5);
}

}  // namespace
}  // namespace locus::client::load
