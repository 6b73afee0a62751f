// T5 relative bias: bucket edges and limits.
#include <cstdint>
#include <memory>
#include <numeric>
#include <utility>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include "core/base/status.h"
#include "tests/core/encoding/schemes/scheme_testing.h"
#include "tests/support/core_testing.h"

namespace locus {
namespace {

using testing::MakeTensor;
using testing::MustMake;
using testing::With;

// The distances at which the bucket changes, up to 200.
std::vector<int64_t> Edges(bool bidirectional, int64_t sign) {
  std::vector<double> table(32);
  std::iota(table.begin(), table.end(), 0.0);
  const Tensor tensor = MakeTensor(DType::kFloat64, {32, 1}, table);
  Arguments arguments;
  arguments.Set("table", tensor.view());
  arguments.Set("bidirectional", bidirectional);
  const auto compiled =
      MustMake("t5_bias", arguments)->Compile({.head_count = 1});
  const auto& bias = *std::get<std::unique_ptr<ScoreBias>>(*compiled);
  std::vector<int64_t> edges;
  for (int64_t n = 1; n < 200; ++n) {
    if (bias.At(0, 500, 500 - sign * n) !=
        bias.At(0, 500, 500 - sign * (n - 1))) {
      edges.push_back(n);
    }
  }
  return edges;
}

TEST(T5BiasTest, BucketEdgesMatchThePublishedCode) {
  const std::vector<int64_t> bidirectional = {1,  2,  3,  4,  5,  6,  7, 8,
                                              12, 16, 23, 32, 46, 64, 91};
  EXPECT_EQ(Edges(true, 1), bidirectional);
  EXPECT_EQ(Edges(true, -1), bidirectional);
  EXPECT_EQ(Edges(false, 1),
            (std::vector<int64_t>{1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11,
                                  12, 13, 14, 15, 16, 19, 21, 24, 27, 31, 35,
                                  40, 46, 52, 59, 67, 77, 87, 99, 113}));
  EXPECT_EQ(Edges(false, -1), std::vector<int64_t>());
}

TEST(T5BiasTest, RejectsInvalidBucketShapes) {
  const auto rejected_field = [](int64_t buckets, int64_t max_distance,
                                 bool both) {
    Arguments arguments;
    arguments.Set("bucket_count", buckets);
    arguments.Set("max_distance", max_distance);
    arguments.Set("bidirectional", both);
    return FieldOf(MakeScheme(*FindScheme("t5_bias"), arguments).status());
  };
  EXPECT_EQ(rejected_field(1, 128, false), "t5_bias.bucket_count");
  EXPECT_EQ(rejected_field(2, 128, true), "t5_bias.bucket_count");
  EXPECT_EQ(rejected_field(31, 128, true), "t5_bias.bucket_count");
  EXPECT_EQ(rejected_field(32, 16, false), "t5_bias.max_distance");
  EXPECT_EQ(rejected_field(32, 17, false), "");
}

TEST(T5BiasTest, LimitsTheNumberOfSeededBiases) {
  Arguments arguments = With("bucket_count", int64_t{2048});
  arguments.Set("max_distance", int64_t{100000});
  const auto scheme = MustMake("t5_bias", arguments);
  EXPECT_EQ(FieldOf(scheme->Compile({.head_count = 513}).status()),
            "scheme.t5_bias.bucket_count");
  EXPECT_EQ(LimitOf(scheme->Compile({.head_count = 513}).status()),
            "max_drawn_biases");
}

}  // namespace
}  // namespace locus
