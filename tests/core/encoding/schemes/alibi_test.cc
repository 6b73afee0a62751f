// ALiBi: slopes, biases, and bounds for the attention kernel.
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/status.h"
#include "tests/core/encoding/schemes/scheme_testing.h"
#include "tests/support/core_testing.h"

namespace locus {
namespace {

using testing::BiasOf;
using ::testing::ElementsAre;
using testing::MustMake;
using testing::With;

std::vector<double> Slopes(Arguments arguments, int64_t head_count) {
  return BiasOf(*MustMake("alibi", std::move(arguments)), head_count)->slopes();
}

TEST(AlibiTest, SlopesOfEightHeadsMatchThePaper) {
  EXPECT_THAT(Slopes({}, 8), ElementsAre(0.5, 0.25, 0.125, 0.0625, 0.03125,
                                         0.015625, 0.0078125, 0.00390625));
  EXPECT_EQ(Slopes({}, 8), Slopes(With("rule", std::string("COURSE")), 8));
}

TEST(AlibiTest, OtherHeadCountsAddEverySecondSlopeOfTheNextPower) {
  EXPECT_THAT(Slopes({}, 3), ElementsAre(0.0625, 0.00390625, 0.25));
  EXPECT_EQ(Slopes({}, 12).size(), 12u);
  EXPECT_DOUBLE_EQ(Slopes({}, 12)[8], std::exp2(-0.5));
  EXPECT_DOUBLE_EQ(Slopes({}, 12)[11], std::exp2(-3.5));
}

TEST(AlibiTest, CourseRuleHalvesTheSlopePerHead) {
  EXPECT_THAT(Slopes(With("rule", std::string("COURSE")), 3),
              ElementsAre(0.5, 0.25, 0.125));
}

TEST(AlibiTest, RejectsSlopesThatDoNotMatchTheHeads) {
  const auto scheme =
      MustMake("alibi", With("slopes", std::vector<double>{1, 2, 3}));
  EXPECT_EQ(scheme->head_count(), 3);
  EXPECT_EQ(FieldOf(scheme->Compile({.head_count = 4}).status()),
            "scheme.alibi.slopes");
}

TEST(AlibiTest, BiasIsLinearInTheDistance) {
  const auto bias = BiasOf(*MustMake("alibi"), 8);
  EXPECT_EQ(bias->At(0, 10, 10), 0);
  EXPECT_EQ(bias->At(0, 10, 3), -0.5 * 7);
  EXPECT_EQ(bias->At(7, 1000, 0), -0.00390625 * 1000);
}

TEST(AlibiTest, BidirectionalCallsNeedTheSymmetricParameter) {
  const auto bias = BiasOf(*MustMake("alibi"), 2);
  EXPECT_TRUE(bias->is_causal());
  EXPECT_EQ(bias->causal_parameter(), "symmetric");
  const auto symmetric = BiasOf(*MustMake("alibi", With("symmetric", true)), 2);
  EXPECT_FALSE(symmetric->is_causal());
  EXPECT_EQ(symmetric->At(0, 3, 10), symmetric->At(0, 10, 3));
}

TEST(AlibiTest, LogTailIsAnUpperBound) {
  const auto bias = BiasOf(*MustMake("alibi"), 8);
  for (int64_t h = 0; h < 8; ++h) {
    for (const int64_t offset : {1, 5, 100}) {
      for (const int64_t count : {1, 10, 3000}) {
        double sum = 0;
        for (int64_t n = 0; n < count; ++n) {
          sum += std::exp(bias->At(h, offset + n, 0));
        }
        EXPECT_GE(bias->LogTail(h, offset, count), std::log(sum) - 1e-12)
            << h << " " << offset << " " << count;
      }
    }
  }
}

}  // namespace
}  // namespace locus
