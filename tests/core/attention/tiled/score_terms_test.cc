// Score terms compared with the reference implementation: all combinations of
// masks of every type and shape, positions in any order, and biases.
#include <cstdint>
#include <limits>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "core/base/random.h"
#include "tests/core/attention/reference_comparison.h"

namespace locus::testing {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
// Several blocks of queries and tiles of keys, the last of which are partial.
constexpr int64_t kQueries = 150;
constexpr int64_t kKeys = 203;
constexpr int64_t kHeads = 4;

// Positions of one kind: packed sequences, reversed, scattered or sparse.
std::vector<int64_t> Ids(const std::string& kind, int64_t count) {
  RandomStream random(7, kind);
  std::vector<int64_t> ids(count);
  for (int64_t i = 0; i < count; ++i) {
    if (kind == "packed") ids[i] = i % 61;
    if (kind == "reversed") ids[i] = count - 1 - i;
    if (kind == "scattered") {
      ids[i] = static_cast<int64_t>(random.Uniform() * 900);
    }
    if (kind == "sparse") {
      ids[i] = static_cast<int64_t>(random.Uniform() * 1e12);
    }
  }
  return ids;
}

// A mask that hides some keys. The other elements are of the size of scores,
// except for rows that are lower by 30000.
Tensor RandomMask(DType dtype, const Shape& shape) {
  Tensor mask(dtype, shape);
  RandomStream random(11, "mask");
  const int64_t columns = shape.back();
  for (int64_t n = 0; n < mask.element_count(); ++n) {
    const bool hidden = random.Uniform() < 0.2;
    double value = 4 * random.Uniform() - (n / columns % 5 == 0 ? 30000 : 0);
    if (dtype == DType::kBool) {
      *mask.at(n) = static_cast<char>(hidden ? 0 : 1);
      continue;
    }
    if (hidden) value = -kInfinity;
    WriteRow(dtype, &value, 1, mask.at(n));
  }
  return mask;
}

struct MaskKind {
  std::string name;
  DType dtype;
  Shape shape;
};

std::vector<MaskKind> MaskKinds() {
  return {{"no", DType::kBool, {}},
          {"bools", DType::kBool, {1, kHeads, kQueries, kKeys}},
          {"bools of keys", DType::kBool, {1, kKeys}},
          {"bools of queries", DType::kBool, {kQueries, 1}},
          {"floats", DType::kFloat32, {kQueries, kKeys}},
          {"floats of keys", DType::kFloat32, {1, kKeys}},
          {"floats of queries", DType::kFloat32, {kQueries, 1}},
          {"halves", DType::kFloat16, {kQueries, kKeys}},
          {"doubles", DType::kFloat64, {kQueries, kKeys}}};
}

class ScoreTermsTest
    : public ::testing::TestWithParam<std::tuple<std::string, std::string>> {};

TEST_P(ScoreTermsTest, MatchesReference) {
  const auto& [scheme, positions] = GetParam();
  const Sizes s{.query_heads = kHeads,
                .key_heads = kHeads,
                .queries = kQueries,
                .keys = kKeys,
                .dim = 12,
                .value_dim = 12};
  for (const DType dtype : {DType::kFloat32, DType::kFloat64}) {
    const Problem problem(s, dtype, 3);
    for (const MaskKind& kind : MaskKinds()) {
      SCOPED_TRACE(kind.name + " mask");
      AttentionOptions options;
      options.causal = true;
      options.query_offset = kKeys - kQueries;
      options.return_log_sum_exp = true;
      if (positions != "range") {
        options.query_positions = *Positions::Ids(Ids(positions, kQueries));
        options.key_positions = *Positions::Ids(Ids(positions, kKeys));
      }
      Tensor mask;
      if (!kind.shape.empty()) {
        mask = RandomMask(kind.dtype, kind.shape);
        options.mask = mask.view();
      }
      ExpectMatchesReference(MustCreate(*MustMake(scheme), problem, options),
                             dtype);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Combinations, ScoreTermsTest,
    ::testing::Combine(::testing::Values("none", "alibi", "t5_bias", "kerple",
                                         "sandwich", "fire"),
                       ::testing::Values("range", "packed", "reversed",
                                         "scattered", "sparse")),
    [](const auto& test) {
      return std::get<0>(test.param) + "_" + std::get<1>(test.param);
    });

// The bias reference of a block belongs to near keys. If the mask hides them,
// the block must be recomputed to stay precise.
TEST(MaskedBiasTest, StaysPreciseIfNearKeysAreMasked) {
  const Sizes s{.query_heads = 8,
                .key_heads = 8,
                .queries = 64,
                .keys = 4096,
                .dim = 16,
                .value_dim = 8};
  for (const DType dtype : {DType::kFloat32, DType::kFloat64}) {
    const Problem problem(s, dtype, 5);
    Tensor mask(DType::kBool, {1, 4096});
    for (int64_t j = 0; j < 4096; ++j) *mask.at(j) = j < 100 ? 1 : 0;
    AttentionOptions options;
    options.causal = true;
    options.query_offset = 4096 - 64;
    options.mask = mask.view();
    options.return_log_sum_exp = true;
    ExpectMatchesReference(MustCreate(*MustMake("alibi"), problem, options),
                           dtype);
  }
}

}  // namespace
}  // namespace locus::testing
