#include "client/plot/labels.h"

#include <algorithm>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace locus::client::plot {
namespace {

using ::testing::ElementsAre;

TEST(SeparateLabelsTest, KeepsLabelsWithEnoughSpace) {
  EXPECT_THAT(SeparateLabels({10, 50, 30}, 15, {0, 100}),
              ElementsAre(10, 50, 30));
}

TEST(SeparateLabelsTest, SpreadsEqualPositionsEvenly) {
  EXPECT_THAT(SeparateLabels({50, 50, 50}, 10, {0, 100}),
              ElementsAre(40, 50, 60));
}

TEST(SeparateLabelsTest, StaysWithinRoom) {
  EXPECT_THAT(SeparateLabels({98, 99}, 10, {0, 100}), ElementsAre(90, 100));
  EXPECT_THAT(SeparateLabels({1, 2}, 10, {0, 100}), ElementsAre(0, 10));
}

TEST(SeparateLabelsTest, KeepsGapsBetweenMergedBlocks) {
  std::vector<double> places =
      SeparateLabels({50, 51, 58, 20, 64, 65}, 10, {0, 100});
  std::sort(places.begin(), places.end());
  for (size_t i = 1; i < places.size(); ++i) {
    EXPECT_GE(places[i] - places[i - 1], 10 - 1e-9);
  }
}

TEST(SeparateLabelsTest, OverflowsAtTheEndInOrder) {
  EXPECT_THAT(SeparateLabels({0, 0, 0}, 10, {0, 5}), ElementsAre(0, 10, 20));
}

TEST(SeparateLabelsTest, AcceptsNoLabels) {
  EXPECT_THAT(SeparateLabels({}, 10, {0, 1}), ElementsAre());
}

}  // namespace
}  // namespace locus::client::plot
