// Tiles whose scores exceed the estimated maximum.
#include <cmath>

#include <gtest/gtest.h>

#include "tests/core/attention/tiled/long_sequence.h"
#include "tests/support/core_testing.h"

namespace locus {
namespace {

using testing::ExpectMatchesReference;
using testing::kLong;
using testing::LongSizes;
using testing::MustCreate;
using testing::MustMake;
using testing::Problem;
using testing::SetRow;
using testing::WithLogSumExp;

TEST(FusedTileTest, LaterTilesMayExceedTheEstimatedMaximum) {
  // Keys near the queries are tiny; norms grow with every tile in both
  // directions.
  Problem problem(LongSizes(), DType::kFloat32, 10);
  for (int64_t j = 0; j < kLong; ++j) {
    const double size = std::abs(static_cast<double>(j - 600)) / 20;
    SetRow(problem.k, j, 16, j % 2 == 0 ? size : -size);
  }
  ExpectMatchesReference(
      MustCreate(*MustMake("none"), problem, WithLogSumExp(false)),
      DType::kFloat32);
  ExpectMatchesReference(
      MustCreate(*MustMake("none"), problem, WithLogSumExp(true)),
      DType::kFloat32);
}

}  // namespace
}  // namespace locus
