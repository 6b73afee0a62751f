#include "client/load/rate_search.h"

#include <cmath>
#include <functional>
#include <random>

#include "gtest/gtest.h"

namespace locus::client::load {
namespace {

// The 99th percentile of the time in an M/M/1 queue that serves `capacity`
// calls a second: exponential with the rate that is left over.
double P99Seconds(double rate, double capacity) {
  return rate >= capacity ? INFINITY : std::log(100.0) / (capacity - rate);
}

// Searches to the end; `trials` counts what that took.
void Finish(RateSearch& search, const std::function<bool(double)>& holds,
            int* trials = nullptr) {
  while (const auto rate = search.Next()) {
    search.Report(holds(*rate));
    if (trials != nullptr) ++*trials;
    ASSERT_TRUE(trials == nullptr || *trials < 1000);
  }
}

TEST(RateSearchTest, FindsTheRateAtWhichAQueueMeetsItsLimit) {
  for (const double capacity : {200.0, 1000.0, 25000.0}) {
    // p99 of 0.05 s is met exactly at this rate.
    const double truth = capacity - std::log(100.0) / 0.05;
    RateSearch search({.first_rate = 100});
    int trials = 0;
    Finish(
        search, [=](double rate) { return P99Seconds(rate, capacity) <= 0.05; },
        &trials);
    ASSERT_TRUE(search.best().has_value());
    EXPECT_LE(*search.best(), truth);
    EXPECT_GE(*search.best(), truth / 1.05);
    EXPECT_FALSE(search.reached_max());
    EXPECT_LE(trials, 25);
  }
}

TEST(RateSearchTest, GoesDownWhereTheFirstRateFails) {
  RateSearch search({.first_rate = 10000});
  Finish(search, [](double rate) { return rate <= 37; });
  EXPECT_NEAR(*search.best(), 37, 37 * 0.05);
}

TEST(RateSearchTest, SaysSoIfNothingHolds) {
  RateSearch search({.first_rate = 100});
  int trials = 0;
  Finish(
      search, [](double) { return false; }, &trials);
  EXPECT_FALSE(search.best().has_value());
  EXPECT_LE(trials, 40);
}

TEST(RateSearchTest, StopsAtTheHighestRateAllowed) {
  RateSearch search({.first_rate = 100, .max_rate = 1000});
  Finish(search, [](double rate) {
    EXPECT_LE(rate, 1000);
    return true;
  });
  EXPECT_EQ(search.best(), 1000);
  EXPECT_TRUE(search.reached_max());
}

TEST(RateSearchTest, OneBadTrialInTenDoesNotMislead) {
  for (int seed = 0; seed < 50; ++seed) {
    std::mt19937 random(seed);
    RateSearch search({.first_rate = 100});
    bool failed_before = false;
    Finish(search, [&](double rate) {
      // Never twice in a row: a pause of the machine passes.
      failed_before = !failed_before && random() % 10 == 0;
      return rate <= 5000 && !failed_before;
    });
    EXPECT_NEAR(*search.best(), 5000, 5000 * 0.05) << seed;
  }
}

TEST(RateSearchTest, EndsAfterSoManyTrials) {
  RateSearch search({.ratio = 1, .max_trials = 12});
  int trials = 0;
  Finish(
      search, [](double rate) { return rate <= 777; }, &trials);
  EXPECT_EQ(trials, 12);
}

}  // namespace
}  // namespace locus::client::load
