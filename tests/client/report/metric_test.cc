#include "client/report/metric.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace locus::client {
namespace {

using ::testing::HasSubstr;

TEST(MetricTest, ParsesBucketsFromNames) {
  EXPECT_EQ(BucketOf("nll_bucket_64_128")->end, 128);
  EXPECT_FALSE(BucketOf("nll").has_value());
  EXPECT_FALSE(BucketOf("nll_bucket_x").has_value());
  EXPECT_FALSE(BucketOf("nll_bucket_nan_nan").has_value());
  EXPECT_FALSE(BucketOf("nll_bucket_0_inf").has_value());
  EXPECT_FALSE(BucketOf("nll_bucket_-4_0").has_value());
}

TEST(MetricTest, PairAccuracyHasNoChanceLevel) {
  EXPECT_FALSE(MetricOf("pair_accuracy").chance.has_value());
  EXPECT_THAT(MetricOf("pair_accuracy").meaning, HasSubstr("right person"));
}

TEST(MetricTest, OrderAccuracyHasChanceLevelOfOneHalf) {
  EXPECT_EQ(MetricOf("order_accuracy").chance, 0.5);
  EXPECT_THAT(MetricOf("order_accuracy").meaning, HasSubstr("works he"));
}

TEST(MetricTest, UnknownMetricsKeepTheirName) {
  EXPECT_EQ(MetricOf("surprise").title, "surprise");
}

}  // namespace
}  // namespace locus::client
