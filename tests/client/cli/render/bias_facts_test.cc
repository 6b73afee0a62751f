#include "client/cli/render/bias_facts.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace locus::client {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(BiasVerdictTest, SortsHeadsByTheRangeOfTheirBiases) {
  const BiasByDistance trained{{{0, -1, -2}, {0, 1, 0}, {0, -1, 1}}};
  const BiasByDistance target{
      {{0, -1, -2, -3}, {0, 1, 0, 0.5}, {0, -1, 1, 1.5}}};
  const BiasVerdict verdict = JudgeBiases(trained, target);
  EXPECT_THAT(verdict.below, ElementsAre(0));
  EXPECT_THAT(verdict.within, ElementsAre(1));
  EXPECT_THAT(verdict.above, ElementsAre(2));
  EXPECT_EQ(verdict.heads[0].trained_low, -2);
  EXPECT_EQ(verdict.heads[0].target_low, -3);
}

TEST(BiasVerdictTest, IgnoresMaskedKeysAndTinyChanges) {
  const double masked = -std::numeric_limits<double>::infinity();
  const BiasVerdict verdict =
      JudgeBiases({{{0, -1, masked}}}, {{{0, -1.0005, masked}}});
  EXPECT_THAT(verdict.within, ElementsAre(0));
  EXPECT_THAT(JudgeBiases({{{0, -1}}}, {{{0, -1.01}}}).below, ElementsAre(0));
}

TEST(BiasVerdictTest, DifferentNumbersOfHeadsHaveNoVerdict) {
  EXPECT_FALSE(JudgeBiases({{{0}, {0}}}, {{{0}}}).is_known());
}

TEST(SampledKeysTest, HoldsAllNearKeysAndTheFarthest) {
  EXPECT_THAT(SampledKeys(0), IsEmpty());
  EXPECT_THAT(SampledKeys(4), ElementsAre(0, 1, 2, 3));
  const std::vector<int64_t> keys = SampledKeys(int64_t{1} << 40);
  EXPECT_EQ(keys.front(), 0);
  EXPECT_EQ(keys.back(), (int64_t{1} << 40) - 1);
  EXPECT_LT(keys.size(), 8192);
  EXPECT_EQ(keys[keys.size() - 1024], keys.back() - 1023);
  EXPECT_TRUE(std::is_sorted(keys.begin(), keys.end()));
}

}  // namespace
}  // namespace locus::client
