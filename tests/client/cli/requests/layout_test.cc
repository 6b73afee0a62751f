#include "client/cli/requests/layout.h"

#include <numeric>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "locus/client/tensor.h"

namespace locus::client {
namespace {

using testing::ElementsAre;

// A tensor with the elements 0, 1, 2, ...
v1::Tensor Counting(const std::vector<int64_t>& shape) {
  int64_t count = 1;
  for (const int64_t extent : shape) count *= extent;
  std::vector<float> values(count);
  std::iota(values.begin(), values.end(), 0.0F);
  return *MakeTensor<float>(shape, values);
}

std::vector<double> Converted(const LayoutChange& change, v1::Tensor tensor) {
  EXPECT_TRUE(ChangeLayout(change, &tensor).ok());
  return *ToDoubles(tensor);
}

TEST(LayoutTest, SplitsEachHeadIntoHalves) {
  EXPECT_THAT(
      Converted({.to_half_split = true, .head_count = 2}, Counting({8})),
      ElementsAre(0, 2, 1, 3, 4, 6, 5, 7));
}

TEST(LayoutTest, KeepsChannelsPastRotaryDim) {
  EXPECT_THAT(
      Converted({.to_half_split = true, .head_count = 1, .rotary_dim = 6},
                Counting({8})),
      ElementsAre(0, 2, 4, 1, 3, 5, 6, 7));
}

TEST(LayoutTest, MovesWholeRowsAlongAxis0) {
  EXPECT_THAT(
      Converted({.to_half_split = true, .head_count = 1}, Counting({4, 2})),
      ElementsAre(0, 1, 4, 5, 2, 3, 6, 7));
}

TEST(LayoutTest, MovesColumnsAlongAxis1) {
  EXPECT_THAT(Converted({.to_half_split = true, .head_count = 1, .axis = 1},
                        Counting({2, 4})),
              ElementsAre(0, 2, 1, 3, 4, 6, 5, 7));
}

TEST(LayoutTest, RoundTripRestoresTheTensor) {
  for (const int64_t axis : {0, 1, -1}) {
    LayoutChange change{
        .to_half_split = true, .head_count = 3, .rotary_dim = 4, .axis = axis};
    v1::Tensor tensor = Counting({18, 18});
    const v1::Tensor before = tensor;
    ASSERT_TRUE(ChangeLayout(change, &tensor).ok());
    EXPECT_NE(tensor.data(), before.data());
    change.to_half_split = false;
    ASSERT_TRUE(ChangeLayout(change, &tensor).ok());
    EXPECT_EQ(tensor.data(), before.data());
  }
}

TEST(LayoutTest, RejectsInvalidSizes) {
  for (const LayoutChange& change :
       {LayoutChange{.head_count = 0}, LayoutChange{.head_count = 3},
        LayoutChange{.head_count = 1, .rotary_dim = 3},
        LayoutChange{.head_count = 1, .rotary_dim = 10},
        LayoutChange{.head_count = 8}, LayoutChange{.head_count = 1, .axis = 1},
        LayoutChange{.head_count = 1, .axis = -2}}) {
    v1::Tensor tensor = Counting({8});
    EXPECT_EQ(ChangeLayout(change, &tensor).code(),
              absl::StatusCode::kInvalidArgument);
  }
}

}  // namespace
}  // namespace locus::client
