#include "server/admission/cost_model.h"

#include <gtest/gtest.h>

namespace locus::server {
namespace {

constexpr Work kWork{.flops = 1e9, .bytes = 1 << 20};

TEST(CostModelTest, MoreWorkTakesLonger) {
  const CostModel model(2);
  const double seconds = model.ExpectSeconds(kWork);
  EXPECT_GT(seconds, model.ExpectSeconds({}));
  EXPECT_GT(model.ExpectSeconds({.flops = 2e9, .bytes = 1 << 20}), seconds);
  EXPECT_GT(model.ExpectSeconds({.flops = 1e9, .bytes = 1 << 24}), seconds);
  EXPECT_GT(CostModel(1).ExpectSeconds(kWork), seconds);
}

TEST(CostModelTest, LearnsFromMeasuredCalls) {
  CostModel model(2);
  const double guess = model.ExpectSeconds(kWork);
  const double other = model.ExpectSeconds({.flops = 1e10});
  for (int i = 0; i < 100; ++i) model.Learn(kWork, 3 * guess);
  EXPECT_NEAR(model.ExpectSeconds(kWork), 3 * guess, 0.01 * guess);
  // The factor applies to other calls of the method as well.
  EXPECT_NEAR(model.ExpectSeconds({.flops = 1e10}), 3 * other, 0.01 * other);
}

TEST(CostModelTest, OneOutlierChangesLittle) {
  CostModel model(2);
  const double guess = model.ExpectSeconds(kWork);
  model.Learn(kWork, 1e6);
  EXPECT_LT(model.ExpectSeconds(kWork), 2 * guess);
  model.Learn(kWork, 0);
  EXPECT_GT(model.ExpectSeconds(kWork), guess / 2);
}

}  // namespace
}  // namespace locus::server
