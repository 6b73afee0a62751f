#include "server/admission/cost_estimator.h"

#include <gtest/gtest.h>

#include <cmath>

namespace locus::server {
namespace {

constexpr Work kWork{.flops = 1e9, .bytes = 1 << 20};

TEST(CostEstimatorTest, GuessIsOverheadPlusFlopsPlusBytes) {
  const CostEstimator estimator(1);
  EXPECT_DOUBLE_EQ(estimator.Expect({}), 30e-6);
  EXPECT_DOUBLE_EQ(estimator.Expect({.flops = 2e10}), 1 + 30e-6);
  EXPECT_DOUBLE_EQ(estimator.Expect({.bytes = 4'000'000'000}), 1 + 30e-6);
}

TEST(CostEstimatorTest, ThreadsShareTheFlops) {
  EXPECT_DOUBLE_EQ(CostEstimator(4).Expect({.flops = 8e10}), 1 + 30e-6);
  EXPECT_DOUBLE_EQ(CostEstimator(4).Expect({.bytes = 4'000'000'000}),
                   1 + 30e-6);
}

TEST(CostEstimatorTest, OneMeasurementCountsForATenth) {
  CostEstimator estimator(1);
  const double guess = estimator.Expect(kWork);
  estimator.OnMeasured(kWork, 8 * guess);
  EXPECT_NEAR(estimator.Expect(kWork), std::pow(8, 0.1) * guess, 1e-12);
}

TEST(CostEstimatorTest, LearnsAFactorForAllWorkOfTheMethod) {
  CostEstimator estimator(1);
  const double guess = estimator.Expect(kWork);
  const double other = estimator.Expect({.flops = 1e10});
  for (int i = 0; i < 100; ++i) estimator.OnMeasured(kWork, guess / 3);
  EXPECT_NEAR(estimator.Expect(kWork), guess / 3, 1e-3 * guess);
  EXPECT_NEAR(estimator.Expect({.flops = 1e10}), other / 3, 1e-3 * other);
}

TEST(CostEstimatorTest, OutliersAreClampedToAFactorOfTwenty) {
  CostEstimator estimator(1);
  const double guess = estimator.Expect(kWork);
  estimator.OnMeasured(kWork, 1e9);
  EXPECT_NEAR(estimator.Expect(kWork), std::pow(20, 0.1) * guess, 1e-12);
  CostEstimator other(1);
  other.OnMeasured(kWork, 0);
  EXPECT_NEAR(other.Expect(kWork), std::pow(20, -0.1) * guess, 1e-12);
}

TEST(CostEstimatorTest, PredictsNothingForUnknownConnections) {
  CostEstimator estimator(1);
  EXPECT_EQ(estimator.Predict(7), 0);
  estimator.OnExpected(7, 0.25, 0);
  EXPECT_EQ(estimator.Predict(7), 0.25);
  EXPECT_EQ(estimator.Predict(8), 0);
  EXPECT_TRUE(estimator.Knows(7));
  EXPECT_FALSE(estimator.Knows(8));
}

TEST(CostEstimatorTest, PredictionFollowsSmallerCallsAtOnce) {
  CostEstimator estimator(1);
  estimator.OnExpected(7, 1, 0);
  estimator.OnExpected(7, 0.001, 0);
  EXPECT_EQ(estimator.Predict(7), 0.001);
}

TEST(CostEstimatorTest, PredictionFollowsLargerCallsSlowly) {
  CostEstimator estimator(1);
  estimator.OnExpected(7, 0.1, 0);
  estimator.OnExpected(7, 1.1, 0);
  EXPECT_DOUBLE_EQ(estimator.Predict(7), 0.2);
  for (int i = 0; i < 100; ++i) estimator.OnExpected(7, 1.1, 0);
  EXPECT_NEAR(estimator.Predict(7), 1.1, 1e-4);
}

TEST(CostEstimatorTest, PredictsTheMessageSizeOfTheLastCall) {
  CostEstimator estimator(1);
  EXPECT_EQ(estimator.PredictBytes(7), 0);
  for (const int64_t bytes : {1000, 10, 5000}) {
    estimator.OnExpected(7, 0.1, bytes);
    EXPECT_EQ(estimator.PredictBytes(7), bytes);
  }
  estimator.OnExpected(7, 0.05, 300);
  EXPECT_EQ(estimator.PredictBytes(7), 300);
  EXPECT_EQ(estimator.PredictBytes(8), 0);
}

TEST(CostEstimatorTest, ConnectionsWithEqualIndexReplaceEachOther) {
  CostEstimator estimator(1);
  estimator.OnExpected(7, 0.1, 0);
  estimator.OnExpected(7 + 1024, 1, 0);
  EXPECT_EQ(estimator.Predict(7), 0);
  EXPECT_EQ(estimator.Predict(7 + 1024), 1);
  // Nothing of the replaced connection is left in the estimate.
  estimator.OnExpected(7, 2, 0);
  EXPECT_EQ(estimator.Predict(7), 2);
}

}  // namespace
}  // namespace locus::server
