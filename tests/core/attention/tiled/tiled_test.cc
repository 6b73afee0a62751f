// The tiled kernel compared with the reference implementation.
#include <cmath>
#include <limits>
#include <optional>

#include <gtest/gtest.h>
#include <hwy/targets.h>

#include "tests/core/attention/reference_comparison.h"
#include "tests/support/core_testing.h"

namespace locus {
namespace {

using testing::Bytes;
using testing::Difference;
using testing::ExpectMatchesReference;
using testing::MakeTensor;
using testing::MustCreate;
using testing::MustMake;
using testing::Problem;
using testing::Sizes;
using testing::Values;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

int64_t Pick(RandomStream& random, std::initializer_list<int64_t> choices) {
  return choices.begin()[random.Next() % choices.size()];
}
bool Coin(RandomStream& random) { return random.Next() % 2 == 0; }

Tensor RandomMask(RandomStream& random, const Sizes& s, uint64_t seed) {
  Shape shape = {s.batch, s.query_heads, s.queries, s.keys};
  const int64_t kind = Pick(random, {0, 1, 2, 3});
  if (kind == 0) shape = {s.keys};
  if (kind == 1) shape = {s.queries, s.keys};
  if (kind == 2) shape[1] = 1;
  const bool is_bool = Coin(random);
  if (is_bool) {
    Tensor mask(DType::kBool, shape);
    for (int64_t n = 0; n < mask.element_count(); ++n) {
      *mask.at(n) = random.Next() % 3 != 0;
    }
    return mask;
  }
  std::vector<double> values(*ElementCount(shape));
  RandomStream(seed, "mask").FillNormal(1, absl::MakeSpan(values));
  for (double& value : values) {
    if (random.Next() % 4 == 0) value = -kInfinity;
  }
  return MakeTensor(DType::kFloat32, shape, values);
}

std::unique_ptr<Scheme> RandomScheme(RandomStream& random, const Sizes& sizes,
                                     bool causal) {
  Arguments arguments;
  switch (random.Next() % 4) {
    case 0:
      return MustMake("none");
    case 1:
      if (sizes.dim < 2) return MustMake("none");
      arguments.Set("layout",
                    std::string(Coin(random) ? "INTERLEAVED" : "HALF_SPLIT"));
      arguments.Set("rotary_dim",
                    Coin(random) ? sizes.dim / 2 * 2 : int64_t{2});
      return MustMake("rope", arguments);
    case 2:
      arguments.Set("symmetric", !causal || Coin(random));
      return MustMake("alibi", arguments);
    default:
      arguments.Set("bidirectional", Coin(random));
      return MustMake("t5_bias", arguments);
  }
}

Positions RandomPositions(RandomStream& random, int64_t count) {
  std::vector<int64_t> ids(count);
  const int64_t span = Pick(random, {10, 1000, 1000000});
  for (int64_t& id : ids) id = static_cast<int64_t>(random.Next() % span);
  return *Positions::Ids(std::move(ids));
}

// Runs body once for each instruction set that the kernel is compiled for and
// this machine supports.
template <typename Body>
void ForEveryInstructionSet(const Body& body) {
  for (const int64_t target : hwy::SupportedAndGeneratedTargets()) {
    hwy::SetSupportedTargetsForTest(target);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
    SCOPED_TRACE(hwy::TargetName(target));
    body();
    hwy::SetSupportedTargetsForTest(0);
  }
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
}

// Draws sizes, types and options from the seed and compares the kernel with the
// reference.
void ExpectRandomProblemMatchesReference(uint64_t seed) {
  RandomStream random(seed, "tiled_test");
  Sizes s;
  s.batch = Pick(random, {1, 2});
  s.key_heads = Pick(random, {1, 2, 3});
  s.query_heads = s.key_heads * Pick(random, {1, 2, 4});
  s.queries = Pick(random, {1, 2, 7, 23, 24, 25, 63, 64, 65, 100, 130});
  s.keys = Pick(random, {1, 3, 4, 5, 63, 64, 65, 127, 150, 200});
  s.dim = Pick(random, {1, 2, 5, 8, 16, 33, 64, 80});
  s.value_dim = Pick(random, {1, 3, 4, 8, 17, 64});
  const DType dtype =
      Coin(random) ? DType::kFloat32 : static_cast<DType>(random.Next() % 4);
  const Problem problem(s, dtype, seed, Pick(random, {1, 1, 1, 3}));

  AttentionOptions options;
  options.causal = Coin(random);
  options.query_offset = Pick(random, {0, 0, 1, 17, 64});
  options.window = Pick(random, {0, 0, 1, 5, 70});
  if (Coin(random)) options.scale = 0.3;
  if (Coin(random))
    options.softcap = static_cast<double>(Pick(random, {1, 5, 50}));
  std::optional<Tensor> mask;
  if (Coin(random)) {
    mask = RandomMask(random, s, seed);
    options.mask = mask->view();
  }
  if (Coin(random))
    options.query_positions = RandomPositions(random, s.queries);
  if (Coin(random)) options.key_positions = RandomPositions(random, s.keys);
  options.return_weights = Coin(random);
  options.return_log_sum_exp = Coin(random);
  ExpectMatchesReference(
      MustCreate(*RandomScheme(random, s, options.causal), problem, options),
      dtype);
}

class TiledRandomTest : public ::testing::TestWithParam<int> {};

TEST_P(TiledRandomTest, MatchesReference) {
  ExpectRandomProblemMatchesReference(GetParam());
}

INSTANTIATE_TEST_SUITE_P(Seeds, TiledRandomTest, ::testing::Range(0, 400));

TEST(TiledTest, EveryInstructionSetMatchesReference) {
  for (uint64_t seed = 1000; seed < 1100; ++seed) {
    SCOPED_TRACE(seed);
    ForEveryInstructionSet(
        [seed] { ExpectRandomProblemMatchesReference(seed); });
  }
}

TEST(TiledTest, LargeScoresArePrecise) {
  const Sizes s{.queries = 70, .keys = 300, .dim = 64, .value_dim = 64};
  for (const double deviation : {3.0, 6.0}) {
    const Problem problem(s, DType::kFloat32, 1, deviation);
    const auto job = MustCreate(*MustMake("none"), problem, {});
    ThreadPool pool(1);
    const auto actual = job.Run(pool, nullptr);
    // Scores reach 30 and more. The error is dominated by the rounding of the
    // score: 2^-24 times the sum of 64 products of this size.
    EXPECT_LE(
        Difference(Values(actual->output), Values(job.RunReference().output)),
        2e-5)
        << deviation;
  }
}

TEST(TiledTest, FullyMaskedRowsAreZero) {
  const Sizes s{.queries = 5, .keys = 70};
  const Problem problem(s, DType::kFloat32, 2);
  Tensor mask = Tensor::Zeros(DType::kBool, {5, 70});
  for (int64_t n = 0; n < 70; ++n) *mask.at(2 * 70 + n) = 1;
  AttentionOptions options;
  options.mask = mask.view();
  options.return_weights = true;
  options.return_log_sum_exp = true;
  const auto job = MustCreate(*MustMake("none"), problem, options);
  ThreadPool pool(1);
  const auto out = job.Run(pool, nullptr);
  const auto output = Values(out->output);
  for (int64_t n = 0; n < 5 * 8; ++n) {
    if (n / 8 != 2) {
      EXPECT_EQ(output[n], 0) << n;
    }
  }
  EXPECT_EQ(Values(*out->log_sum_exp)[0], -kInfinity);
  EXPECT_EQ(Values(*out->weights)[0], 0);
  ExpectMatchesReference(job, DType::kFloat32);
}

TEST(TiledTest, LargeNegativeMaskIsNotHidden) {
  const Sizes s{.queries = 2, .keys = 10};
  for (const double value : {-1e4, -1e9, -1e14, -3.4028234663852886e38}) {
    const Problem problem(s, DType::kFloat32, 3);
    std::vector<double> terms(20, value);
    terms[3] = 0;  // one key of the first query is not masked
    const Tensor mask = MakeTensor(DType::kFloat32, {2, 10}, terms);
    AttentionOptions options;
    options.mask = mask.view();
    options.return_weights = true;
    const auto job = MustCreate(*MustMake("none"), problem, options);
    ThreadPool pool(1);
    double sum = 0;
    for (const double weight : Values(*job.Run(pool, nullptr)->weights)) {
      sum += weight;
    }
    EXPECT_NEAR(sum, 2, 1e-5) << value;
    ExpectMatchesReference(job, DType::kFloat32);
  }
}

TEST(TiledTest, AlibiWithNearKeysMaskedIsExact) {
  const Sizes s{.query_heads = 2, .key_heads = 2, .queries = 3, .keys = 40};
  const Problem problem(s, DType::kFloat32, 13);
  Tensor mask = Tensor::Zeros(DType::kBool, {40});
  for (int64_t j = 0; j < 20; ++j) *mask.at(j) = 1;
  std::vector<int64_t> ids(40);
  for (int64_t j = 0; j < 40; ++j) ids[j] = j < 20 ? j : 1000000 + j;
  AttentionOptions options;
  options.causal = true;
  options.query_offset = 1000100;
  options.mask = mask.view();
  options.key_positions = *Positions::Ids(ids);
  ExpectMatchesReference(MustCreate(*MustMake("alibi"), problem, options),
                         DType::kFloat32);
}

// The difference from the reference for a problem whose last 10 of 90 keys are
// masked and have `poison` as keys and values.
double MaskedPoisonDifference(double poison, bool additive, DType dtype) {
  const Sizes s{.queries = 30, .keys = 90, .dim = 16, .value_dim = 12};
  Problem problem(s, dtype, 4);
  for (int64_t j = 80; j < 90; ++j) {
    const std::vector<double> row(16, poison);
    WriteRow(dtype, row.data(), 16, problem.k.at(j * 16));
    WriteRow(dtype, row.data(), 12, problem.v.at(j * 12));
  }
  Tensor mask = Tensor::Zeros(DType::kBool, {90});
  for (int64_t j = 0; j < 80; ++j) *mask.at(j) = 1;
  std::vector<double> terms(90, 0.0);
  std::fill(terms.begin() + 80, terms.end(), -kInfinity);
  const Tensor additive_mask = MakeTensor(DType::kFloat32, {90}, terms);
  AttentionOptions options;
  options.mask = additive ? additive_mask.view() : mask.view();
  const auto job = MustCreate(*MustMake("none"), problem, options);
  ThreadPool pool(1);
  const auto actual = job.Run(pool, nullptr);
  for (const double value : Values(actual->output)) {
    EXPECT_TRUE(std::isfinite(value));
  }
  return Difference(Values(actual->output), Values(job.RunReference().output));
}

TEST(TiledTest, MaskedKeysDoNotLeak) {
  for (const double poison : {kNaN, kInfinity, -kInfinity, 3e38}) {
    for (const bool additive : {false, true}) {
      EXPECT_LE(MaskedPoisonDifference(poison, additive, DType::kFloat32), 5e-6)
          << poison << additive;
      EXPECT_LE(MaskedPoisonDifference(poison, additive, DType::kFloat64),
                1e-13);
    }
  }
}

TEST(TiledTest, CausalityHidesNaNs) {
  const Sizes s{.queries = 80, .keys = 80, .dim = 8, .value_dim = 8};
  Problem problem(s, DType::kFloat32, 5);
  const std::vector<double> row(8, kNaN);
  WriteRow(DType::kFloat32, row.data(), 8, problem.v.at(70 * 8));
  AttentionOptions options;
  options.causal = true;
  const auto job = MustCreate(*MustMake("none"), problem, options);
  ThreadPool pool(1);
  const auto output = Values(job.Run(pool, nullptr)->output);
  for (int64_t i = 0; i < 80; ++i) {
    EXPECT_EQ(std::isnan(output[i * 8]), i >= 70) << i;
  }
}

TEST(TiledTest, IsBitIdenticalForAnyNumberOfThreads) {
  const Sizes s{.batch = 2,
                .query_heads = 4,
                .key_heads = 2,
                .queries = 150,
                .keys = 170,
                .dim = 40,
                .value_dim = 24};
  const Problem problem(s, DType::kFloat32, 6);
  AttentionOptions options;
  options.causal = true;
  options.query_offset = 20;
  const auto job = MustCreate(*MustMake("alibi"), problem, options);
  ThreadPool one(1);
  const std::string expected = Bytes(job.Run(one, nullptr)->output);
  for (const int threads : {2, 3, 8}) {
    ThreadPool pool(threads);
    EXPECT_EQ(Bytes(job.Run(pool, nullptr)->output), expected) << threads;
  }
}

TEST(TiledTest, AlibiWithFarKeysIsExact) {
  // All keys are a million positions before the queries: the bias is about
  // -5e5, and only its differences affect the result.
  const Sizes s{
      .query_heads = 8, .key_heads = 8, .queries = 30, .keys = 50, .dim = 16};
  const Problem problem(s, DType::kFloat32, 7);
  AttentionOptions options;
  options.causal = true;
  options.query_offset = 100;
  options.query_positions = *Positions::Range(1000000, 30);
  options.return_log_sum_exp = true;
  ExpectMatchesReference(MustCreate(*MustMake("alibi"), problem, options),
                         DType::kFloat32);
  std::vector<int64_t> ids(30);
  for (int64_t i = 0; i < 30; ++i) ids[i] = i % 2 == 0 ? 1000 : 1000000 + 7 * i;
  options.query_positions = *Positions::Ids(ids);
  ExpectMatchesReference(MustCreate(*MustMake("alibi"), problem, options),
                         DType::kFloat32);
}

TEST(TiledTest, StopsWhenCancelled) {
  const Sizes s{.queries = 500, .keys = 500};
  const Problem problem(s, DType::kFloat32, 8);
  const auto job = MustCreate(*MustMake("none"), problem, {});
  ThreadPool pool(2);
  const auto out = job.Run(pool, [] { return absl::CancelledError("enough"); });
  EXPECT_EQ(out.status().code(), absl::StatusCode::kCancelled);
}

TEST(TiledTest, NoKeysYieldZeros) {
  const Problem problem(Sizes{.queries = 3, .keys = 0}, DType::kFloat32, 9);
  const auto job = MustCreate(*MustMake("none"), problem, {});
  ThreadPool pool(1);
  EXPECT_EQ(Values(job.Run(pool, nullptr)->output),
            std::vector<double>(3 * 8, 0.0));
}

TEST(TiledTest, WindowsBeyondTheLastKeyHideAllKeys) {
  const Sizes s{.queries = 200, .keys = 130};
  const Problem problem(s, DType::kFloat32, 14);
  for (const int64_t offset :
       {int64_t{0}, int64_t{100}, int64_t{129}, int64_t{130}, int64_t{1000},
        int64_t{1} << 40, int64_t{1} << 61}) {
    AttentionOptions options;
    options.window = 3;
    options.query_offset = offset;
    options.return_weights = true;
    options.return_log_sum_exp = true;
    ExpectMatchesReference(MustCreate(*MustMake("t5_bias"), problem, options),
                           DType::kFloat32);
  }
}

TEST(TiledTest, FarOffsetsAndWindowsDoNotOverflow) {
  const Problem problem(Sizes{.queries = 1, .keys = 10}, DType::kFloat32, 15);
  AttentionOptions options;
  options.query_offset = int64_t{1} << 61;
  options.window = std::numeric_limits<int64_t>::max();
  options.return_weights = true;
  const auto job = MustCreate(*MustMake("none"), problem, options);
  ThreadPool pool(1);
  for (const double weight : Values(*job.Run(pool, nullptr)->weights)) {
    EXPECT_GT(weight, 0);
  }
}

// Compares a problem with a NaN in the queries (place 0), the keys (1) or the
// mask (2) with the reference.
void ExpectMatchesReferenceWithNaN(DType dtype, int place, double nan) {
  const Sizes s{.queries = 40, .keys = 70, .dim = 8, .value_dim = 8};
  Problem problem(s, dtype, 16);
  std::vector<double> terms(40 * 70, 0.0);
  if (place == 0) WriteRow(dtype, &nan, 1, problem.q.at(5 * 8 + 3));
  if (place == 1) WriteRow(dtype, &nan, 1, problem.k.at(50 * 8 + 3));
  if (place == 2) terms[7 * 70 + 9] = nan;
  const Tensor mask = MakeTensor(DType::kFloat32, {40, 70}, terms);
  AttentionOptions options;
  options.mask = mask.view();
  options.causal = true;
  options.query_offset = 20;
  options.return_weights = true;
  options.return_log_sum_exp = true;
  ExpectMatchesReference(MustCreate(*MustMake("none"), problem, options),
                         dtype);
}

TEST(TiledTest, VisibleNaNsPropagate) {
  for (const DType dtype : {DType::kFloat32, DType::kFloat64}) {
    for (const int place : {0, 1, 2}) {
      for (const double nan : {kNaN, -kNaN}) {
        SCOPED_TRACE(::testing::Message() << place << " " << nan);
        ForEveryInstructionSet(
            [&] { ExpectMatchesReferenceWithNaN(dtype, place, nan); });
      }
    }
  }
}

// Queries without visible keys, far from all keys, share a block with queries
// that have visible keys.
TEST(TiledTest, QueriesWithoutKeysDoNotAffectOthers) {
  for (const int64_t empty_count : {3, 12, 22, 45, 60}) {
    const Sizes s{.query_heads = 2,
                  .key_heads = 2,
                  .queries = empty_count + 37,
                  .keys = 37};
    const Problem problem(s, DType::kFloat32, 18);
    AttentionOptions options;
    options.causal = true;
    options.bottom_right = true;
    options.query_positions = *Positions::Range(0, s.queries);
    options.key_positions = *Positions::Range(empty_count, s.keys);
    options.return_weights = true;
    options.return_log_sum_exp = true;
    Arguments arguments;
    arguments.Set("kernel", std::string("POWER"));
    arguments.Set("a", std::vector<double>{1, 0.5});
    arguments.Set("p", std::vector<double>{2, 2});
    SCOPED_TRACE(empty_count);
    ExpectMatchesReference(
        MustCreate(*MustMake("kerple", arguments), problem, options),
        DType::kFloat32);
  }
}

TEST(TiledTest, LargeBiasesDoNotRoundScores) {
  const Sizes s{.query_heads = 2, .key_heads = 2, .queries = 70, .keys = 70};
  const Problem problem(s, DType::kFloat32, 17);
  AttentionOptions options;
  options.causal = true;
  options.return_log_sum_exp = true;
  for (const double level : {1e4, -1e6, 1e9}) {
    std::vector<double> values(32 * 2, level);
    for (int64_t n = 0; n < 32; ++n) values[n] += 0.1 * static_cast<double>(n);
    const Tensor table = MakeTensor(DType::kFloat64, {32, 2}, values);
    Arguments arguments;
    arguments.Set("table", table.view());
    SCOPED_TRACE(level);
    ExpectMatchesReference(
        MustCreate(*MustMake("t5_bias", arguments), problem, options),
        DType::kFloat32);
  }
  for (const double slope : {1.0, 10.0, 1e4, 1e38}) {
    Arguments arguments;
    arguments.Set("slopes", std::vector<double>{slope, 0.5});
    SCOPED_TRACE(slope);
    ExpectMatchesReference(
        MustCreate(*MustMake("alibi", arguments), problem, options),
        DType::kFloat32);
  }
}

TEST(TiledTest, ScratchGrowsLinearly) {
  const auto scratch = [](int64_t length) {
    const Problem problem(
        Sizes{.queries = length, .keys = length, .dim = 2, .value_dim = 2},
        DType::kFloat32, 10);
    AttentionOptions options;
    options.causal = true;
    return MustCreate(*MustMake("t5_bias"), problem, options).scratch_bytes(2);
  };
  const int64_t short_bytes = scratch(10000);
  EXPECT_LE(scratch(80000), 8 * short_bytes + 4096);
}

}  // namespace
}  // namespace locus
