#include "client/load/rate_search.h"

#include <cmath>
#include <functional>
#include <random>

#include "gtest/gtest.h"

namespace locus::client::load {
namespace {

// Returns the p99 of the sojourn time in an M/M/1 queue that serves `capacity`
// calls per second. The time is exponentially distributed with the rate
// capacity - rate.
double P99Seconds(double rate, double capacity) {
  return rate >= capacity ? INFINITY : std::log(100.0) / (capacity - rate);
}

// Runs a search to its end. Counts the trials in `*trials` unless it is null.
void RunSearch(RateSearch& search,
               const std::function<bool(double)>& meets_slos,
               int* trials = nullptr) {
  while (const auto rate = search.Next()) {
    search.Report(meets_slos(*rate));
    if (trials != nullptr) ++*trials;
    ASSERT_TRUE(trials == nullptr || *trials < 1000);
  }
}

TEST(RateSearchTest, FindsHighestRateOfMM1QueueThatMeetsSlo) {
  for (const double capacity : {200.0, 1000.0, 25000.0}) {
    // p99 of 0.05 s is met exactly at this rate.
    const double expected = capacity - std::log(100.0) / 0.05;
    RateSearch search({.first_rate = 100});
    int trials = 0;
    RunSearch(
        search, [=](double rate) { return P99Seconds(rate, capacity) <= 0.05; },
        &trials);
    ASSERT_TRUE(search.best().has_value());
    EXPECT_LE(*search.best(), expected);
    EXPECT_GE(*search.best(), expected / 1.05);
    EXPECT_FALSE(search.reached_max());
    EXPECT_LE(trials, 25);
  }
}

TEST(RateSearchTest, DecreasesRateIfFirstTrialFails) {
  RateSearch search({.first_rate = 10000});
  RunSearch(search, [](double rate) { return rate <= 37; });
  EXPECT_NEAR(*search.best(), 37, 37 * 0.05);
}

TEST(RateSearchTest, HasNoBestRateIfAllTrialsFail) {
  RateSearch search({.first_rate = 100});
  int trials = 0;
  RunSearch(
      search, [](double) { return false; }, &trials);
  EXPECT_FALSE(search.best().has_value());
  EXPECT_LE(trials, 40);
}

TEST(RateSearchTest, StopsAtMaxRate) {
  RateSearch search({.first_rate = 100, .max_rate = 1000});
  RunSearch(search, [](double rate) {
    EXPECT_LE(rate, 1000);
    return true;
  });
  EXPECT_EQ(search.best(), 1000);
  EXPECT_TRUE(search.reached_max());
}

TEST(RateSearchTest, ToleratesOneFailedTrialInTen) {
  for (int seed = 0; seed < 50; ++seed) {
    std::mt19937 random(seed);
    RateSearch search({.first_rate = 100});
    bool failed_before = false;
    RunSearch(search, [&](double rate) {
      // Never twice in a row, like a short pause of the machine.
      failed_before = !failed_before && random() % 10 == 0;
      return rate <= 5000 && !failed_before;
    });
    EXPECT_NEAR(*search.best(), 5000, 5000 * 0.05) << seed;
  }
}

TEST(RateSearchTest, EndsAfterMaxTrials) {
  RateSearch search({.ratio = 1, .max_trials = 12});
  int trials = 0;
  RunSearch(
      search, [](double rate) { return rate <= 777; }, &trials);
  EXPECT_EQ(trials, 12);
}

}  // namespace
}  // namespace locus::client::load
