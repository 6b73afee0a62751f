// FIRE: network, piecewise linear form, and weights.
#include <cstdint>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "core/base/status.h"
#include "tests/core/encoding/schemes/scheme_testing.h"
#include "tests/support/core_testing.h"

namespace locus {
namespace {

using testing::BiasOf;
using testing::MakeTensor;
using testing::MustMake;
using testing::With;

TEST(FireTest, PiecewiseLinearFormMatchesTheNetwork) {
  // Compiled as trainable, the bias evaluates the network; otherwise it
  // evaluates the piecewise linear form.
  const auto scheme = MustMake("fire", With("seed", uint64_t{8}));
  const auto network = BiasOf(*scheme, 3, 4096, true);
  const auto lines = BiasOf(*scheme, 3, 4096, false);
  for (int64_t h = 0; h < 3; ++h) {
    for (const int64_t i : {0, 1, 500, 513, 4000}) {
      for (const int64_t j : {0, 1, 400, 512, 4000}) {
        EXPECT_NEAR(lines->At(h, i, j), network->At(h, i, j), 1e-13);
      }
    }
  }
}

// The hidden unit switches off at 1e17, where adding 1 has no effect.
TEST(FireTest, UnitsThatSwitchAtLargeInputsCount) {
  const auto single = [](const Shape& shape, double value) {
    return MakeTensor(DType::kFloat64, shape, {value});
  };
  const Tensor w1 = single({1}, -1e-17);
  const Tensor b1 = single({1}, 1);
  const Tensor w2 = single({1, 1}, 2);
  const Tensor b2 = single({1}, 0.5);
  Arguments arguments = With("w1", w1.view(), With("b1", b1.view()));
  arguments.Set("w2", w2.view());
  arguments.Set("b2", b2.view());
  EXPECT_NEAR(BiasOf(*MustMake("fire", arguments), 1)->At(0, 5, 0), 2.5, 1e-12);
}

TEST(FireTest, RowsMatchSingleValues) {
  const auto scheme =
      MustMake("fire", With("threshold", 60.0, With("seed", uint64_t{3})));
  const auto bias = BiasOf(*scheme, 3, 700);
  // Keys before, around and after the query; the last range exceeds the cached
  // positions.
  for (const auto& [start, count] : std::vector<std::pair<int64_t, int64_t>>{
           {0, 1}, {0, 701}, {5, 64}, {300, 128}, {690, 20}}) {
    const Positions keys = *Positions::Range(start, count);
    for (const int64_t query : {0, 1, 59, 60, 333, 700}) {
      for (int64_t head = 0; head < 3; ++head) {
        std::vector<double> row(count);
        bias->Row(head, query, keys, 0, count, row.data());
        for (int64_t j = 0; j < count; ++j) {
          ASSERT_EQ(row[j], bias->At(head, query, start + j))
              << head << " " << query << " " << start + j;
        }
      }
    }
  }
}

TEST(FireTest, DependsOnTheQueryPositionPastTheThreshold) {
  const auto bias = BiasOf(*MustMake("fire", With("threshold", 100.0)), 1);
  EXPECT_EQ(bias->At(0, 20, 10), bias->At(0, 100, 90));
  EXPECT_NE(bias->At(0, 20, 10), bias->At(0, 200, 190));
  EXPECT_FALSE(bias->depends_on_offset_alone());
}

TEST(FireTest, RejectsIncompleteOrMismatchedWeights) {
  const Tensor two = MakeTensor(DType::kFloat32, {2}, {1, 2});
  const Tensor matrix = MakeTensor(DType::kFloat32, {1, 2}, {1, 2});
  const Tensor one = MakeTensor(DType::kFloat32, {1}, {1});
  const auto field = [](const Arguments& arguments) {
    return FieldOf(MakeScheme(*FindScheme("fire"), arguments).status());
  };
  Arguments all = With("w1", two.view(), With("b1", two.view()));
  EXPECT_EQ(field(all), "fire.w2");
  all.Set("w2", matrix.view());
  all.Set("b2", one.view());
  EXPECT_EQ(field(all), "");
  EXPECT_EQ(FieldOf(MustMake("fire", all)->Compile({.head_count = 2}).status()),
            "scheme.fire.w2.shape");
  all.Set("b1", one.view());
  EXPECT_EQ(field(all), "fire.b1.shape");
}

}  // namespace
}  // namespace locus
