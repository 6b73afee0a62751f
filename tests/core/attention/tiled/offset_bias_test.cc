// Biases that depend on the offset between query and key alone.
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/core/attention/tiled/long_sequence.h"
#include "tests/support/core_testing.h"

namespace locus {
namespace {

using testing::ErrorOf;
using testing::ExpectMatchesReference;
using testing::LongSizes;
using testing::MustCreate;
using testing::MustMake;
using testing::Problem;
using testing::Sizes;
using testing::WithIds;
using testing::WithLogSumExp;

// Biases that are small near the query and large far away: KERPLE with powers
// above 1, and Sandwich.
std::vector<std::unique_ptr<Scheme>> FarLargeBiases(bool causal) {
  Arguments kerple;
  kerple.Set("kernel", std::string("POWER"));
  kerple.Set("symmetric", !causal);
  kerple.Set("p", std::vector<double>{1.9, 1.2, 2, 0.7});
  kerple.Set("a", std::vector<double>{0.02, 1, 3, 0.5});
  std::vector<std::unique_ptr<Scheme>> schemes;
  schemes.push_back(MustMake("kerple", kerple));
  // With this width, the biases of 4 heads are as large as those of 32 heads
  // with the default width.
  Arguments sandwich;
  sandwich.Set("width", int64_t{1024});
  schemes.push_back(MustMake("sandwich", sandwich));
  return schemes;
}

TEST(OffsetBiasTest, LargeBiasesOfFarKeysAreExact) {
  const Problem problem(LongSizes(), DType::kFloat32, 8);
  for (const bool causal : {true, false}) {
    for (const auto& scheme : FarLargeBiases(causal)) {
      for (const int64_t window : {0, 90}) {
        SCOPED_TRACE(::testing::Message() << scheme->name() << causal);
        AttentionOptions options = WithLogSumExp(causal);
        options.window = window;
        const auto job = MustCreate(*scheme, problem, options);
        ExpectMatchesReference(job, DType::kFloat32);
        // A list of positions selects BiasMode::kGeneral.
        const auto general = MustCreate(*scheme, problem, WithIds(options));
        const AttentionOutputs reference = job.RunReference();
        EXPECT_LE(ErrorOf(job, reference), 1.5 * ErrorOf(general, reference));
      }
    }
  }
}

// Queries with positions beyond those of all keys see large biases only.
TEST(OffsetBiasTest, QueriesFarFromTheirKeysAreExact) {
  const Sizes s{.query_heads = 4, .key_heads = 4, .queries = 70, .keys = 200};
  const Problem problem(s, DType::kFloat32, 9);
  for (const auto& scheme : FarLargeBiases(true)) {
    for (const int64_t offset : {0, 150, 199, 200, 263, 1000}) {
      for (const int64_t start : {0, 100, 900}) {
        SCOPED_TRACE(::testing::Message()
                     << scheme->name() << " " << offset << " " << start);
        AttentionOptions options = WithLogSumExp(true);
        options.query_offset = offset;
        if (start > 0) options.query_positions = *Positions::Range(start, 70);
        ExpectMatchesReference(MustCreate(*scheme, problem, options),
                               DType::kFloat32);
      }
    }
  }
}

}  // namespace
}  // namespace locus
