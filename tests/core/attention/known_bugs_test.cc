// Known bugs of implementations of positional encodings and attention. Each
// test is a small case that an implementation with the bug fails. The files of
// the schemes describe their known bugs in more detail.
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/attention/module.h"
#include "core/base/status.h"
#include "tests/core/attention/reference_comparison.h"
#include "tests/support/core_testing.h"

namespace locus {
namespace {

using testing::Bytes;
using testing::MakeTensor;
using testing::MustCreate;
using testing::MustMake;
using testing::Problem;
using testing::RandomTensor;
using testing::Values;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Attention weights, [1, heads, queries, keys], of queries and keys that are
// zero: the scores consist of bias and mask only.
std::vector<double> WeightsOf(const Scheme& scheme, int64_t keys,
                              AttentionOptions options, int64_t queries = 1,
                              int64_t heads = 1) {
  const Tensor q = MakeTensor(DType::kFloat64, {1, heads, queries, 2},
                              std::vector<double>(2 * queries * heads, 0.0));
  const Tensor k = MakeTensor(DType::kFloat64, {1, heads, keys, 2},
                              std::vector<double>(2 * keys * heads, 0.0));
  options.return_weights = true;
  auto job = AttentionJob::Create(scheme, {q.view(), k.view(), k.view()},
                                  std::move(options));
  EXPECT_TRUE(job.ok()) << job.status();
  ThreadPool pool(1);
  return Values(*job->Run(pool, nullptr)->weights);
}

// The largest error of the cosines of all pairs of a head at one position.
double MaxCosineError(const Arguments& arguments, int64_t position) {
  ThreadPool pool(1);
  EncodeOptions options;
  options.dim = 128;
  options.positions = *Positions::Ids({position});
  const auto job = EncodeJob::Create(*MustMake("rope", arguments), options);
  const auto encoding = job->Run(pool, nullptr);
  const auto cos = Values(std::get<RotationEncoding>(encoding->numbers).cos);
  double largest = 0;
  for (int64_t k = 0; k < 64; ++k) {
    const long double angle = static_cast<long double>(position) *
                              powl(10000.0L, -static_cast<long double>(k) / 64);
    largest =
        std::max(largest, std::abs(cos[k] - static_cast<double>(cosl(angle))));
  }
  return largest;
}

TEST(KnownBugsTest, Float32AngleErrorGrowsWithPosition) {
  Arguments single;
  single.Set("angles", std::string("FLOAT32"));
  for (const int64_t position : {10'000L, 100'000L, 1'000'000L}) {
    const double expected = 3e-8 * static_cast<double>(position);
    // The bound for 64 pairs: half a unit of rounding each for the frequency
    // and for its product with the position.
    EXPECT_GT(MaxCosineError(single, position), expected / 3) << position;
    EXPECT_LT(MaxCosineError(single, position), 4 * expected) << position;
    EXPECT_LT(MaxCosineError({}, position), 2e-6) << position;
  }
  EXPECT_LT(MaxCosineError({}, 1L << 31), 2e-6);
}

TEST(KnownBugsTest, FastMathIsOff) {
#ifdef __FAST_MATH__
  FAIL() << "-ffast-math breaks range reduction and infinities";
#endif
  volatile double infinity = kInfinity;
  EXPECT_TRUE(std::isnan(infinity - infinity));
}

TEST(KnownBugsTest, AllSchemesAcceptPositionsInAnyOrder) {
  for (const SchemeInfo& info : AllSchemes()) {
    const auto scheme = MustMake(info.name);
    const auto row = [&](std::vector<int64_t> ids) {
      EncodeOptions options;
      options.dim = 8;
      options.head_count = 2;
      options.positions = *Positions::Ids(ids);
      if (info.site == Site::kScores) {
        options.key_positions = *Positions::Ids({3});
      }
      const auto job = EncodeJob::Create(*scheme, options);
      EXPECT_TRUE(job.ok()) << info.name << job.status();
      ThreadPool pool(1);
      return *job->Run(pool, nullptr);
    };
    if (info.site == Site::kNone) continue;
    const Encoding mixed = row({500, 7, 7, 0, 500});
    const Encoding apart = row({0, 7, 500});
    const auto table = [](const Encoding& encoding) {
      if (const auto* code = std::get_if<AdditiveEncoding>(&encoding.numbers)) {
        return Values(code->table);
      }
      if (const auto* turn = std::get_if<RotationEncoding>(&encoding.numbers)) {
        return Values(turn->cos);
      }
      return Values(std::get<BiasEncoding>(encoding.numbers).bias);
    };
    // Codes and rotations are [positions, width], biases [heads, positions, 1].
    const std::vector<double> a = table(mixed);
    const std::vector<double> b = table(apart);
    const size_t groups = info.site == Site::kScores ? 2 : 1;
    const size_t width = a.size() / 5 / groups;
    const size_t order[] = {2, 1, 1, 0, 2};
    for (size_t g = 0; g < groups; ++g) {
      for (size_t n = 0; n < 5; ++n) {
        for (size_t c = 0; c < width; ++c) {
          EXPECT_EQ(a[(g * 5 + n) * width + c],
                    b[(g * 3 + order[n]) * width + c])
              << info.name;
        }
      }
    }
  }
}

TEST(KnownBugsTest, RejectsNegativePositions) {
  EXPECT_FALSE(Positions::Ids({3, -1}).ok());
  EXPECT_FALSE(Positions::Range(-1, 2).ok());
}

TEST(KnownBugsTest, BiasIsAddedAfterScaling) {
  Arguments slope;
  slope.Set("slopes", std::vector<double>{1.0});
  AttentionOptions options;
  options.causal = true;
  options.query_offset = 1;
  options.scale = 0.001;
  const auto weights = WeightsOf(*MustMake("alibi", slope), 2, options);
  EXPECT_NEAR(weights[0] / weights[1], std::exp(-1), 1e-12);
}

TEST(KnownBugsTest, SoftcapIsAppliedBeforeBiasAndMask) {
  Arguments slope;
  slope.Set("slopes", std::vector<double>{10.0});
  AttentionOptions options;
  options.causal = true;
  options.query_offset = 1;
  options.softcap = 1;
  const auto capped = WeightsOf(*MustMake("alibi", slope), 2, options);
  EXPECT_NEAR(capped[0] / capped[1], std::exp(-10), 1e-12);
  const Tensor mask = MakeTensor(DType::kFloat64, {2}, {-10, 0});
  options.mask = mask.view();
  const auto masked = WeightsOf(*MustMake("none"), 2, options);
  EXPECT_NEAR(masked[0] / masked[1], std::exp(-10), 1e-12);
}

// The unscaled scores of the two keys are 10 and 0.
TEST(KnownBugsTest, SoftcapIsAppliedAfterScaling) {
  const Tensor q = MakeTensor(DType::kFloat64, {1, 1, 1, 2}, {10, 0});
  const Tensor k = MakeTensor(DType::kFloat64, {1, 1, 2, 2}, {1, 0, 0, 0});
  AttentionOptions options;
  options.scale = 0.1;
  options.softcap = 1;
  options.return_weights = true;
  const auto job = AttentionJob::Create(
      *MustMake("none"), {q.view(), k.view(), k.view()}, options);
  ThreadPool pool(1);
  const auto weights = Values(*job->Run(pool, nullptr)->weights);
  EXPECT_NEAR(std::log(weights[0] / weights[1]), std::tanh(1.0), 1e-12);
}

TEST(KnownBugsTest, MasksComposeWithCausality) {
  // Keys 0 and 2 are hidden by the mask, keys 2 and 3 by causality.
  const Tensor mask =
      MakeTensor(DType::kFloat64, {4}, {-kInfinity, 0, -kInfinity, 0});
  AttentionOptions options;
  options.causal = true;
  options.query_offset = 1;
  options.mask = mask.view();
  EXPECT_EQ(WeightsOf(*MustMake("none"), 4, options),
            (std::vector<double>{0, 1, 0, 0}));
}

TEST(KnownBugsTest, FullyMaskedRowIsZeroNotNaN) {
  const Tensor mask =
      MakeTensor(DType::kFloat64, {3}, {-kInfinity, -kInfinity, -kInfinity});
  AttentionOptions options;
  options.mask = mask.view();
  EXPECT_EQ(WeightsOf(*MustMake("rope"), 3, options),
            (std::vector<double>{0, 0, 0}));
}

TEST(KnownBugsTest, HiddenKeysDoNotLeak) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const DType dtype : {DType::kFloat32, DType::kFloat64}) {
    for (const double hidden : {nan, kInfinity, 1e30}) {
      // Key 1 is hidden by the mask, key 3 by causality.
      const Tensor q = RandomTensor(dtype, {1, 1, 1, 2}, 1, "q");
      const Tensor k = MakeTensor(dtype, {1, 1, 4, 2},
                                  {1, 2, hidden, hidden, 3, 4, hidden, 5});
      const Tensor v = MakeTensor(dtype, {1, 1, 4, 1}, {7, hidden, 7, hidden});
      const Tensor mask =
          MakeTensor(DType::kFloat64, {4}, {0, -kInfinity, 0, 0});
      AttentionOptions options;
      options.causal = true;
      options.query_offset = 2;
      options.mask = mask.view();
      const auto job = AttentionJob::Create(
          *MustMake("rope"), {q.view(), k.view(), v.view()}, options);
      ThreadPool pool(1);
      EXPECT_NEAR(Values(job->Run(pool, nullptr)->output)[0], 7, 1e-6);
    }
  }
}

TEST(KnownBugsTest, LargeNegativeMaskIsNotInfinite) {
  const Tensor mask = MakeTensor(DType::kFloat64, {2}, {-1e30, -1e30});
  AttentionOptions options;
  options.mask = mask.view();
  EXPECT_EQ(WeightsOf(*MustMake("none"), 2, options),
            (std::vector<double>{0.5, 0.5}));
}

TEST(KnownBugsTest, CausalityIsTopLeftUnlessAnOffsetIsSet) {
  AttentionOptions options;
  options.causal = true;
  EXPECT_EQ(WeightsOf(*MustMake("none"), 3, options, 2),
            (std::vector<double>{1, 0, 0, 0.5, 0.5, 0}));
  options.bottom_right = true;
  EXPECT_EQ(WeightsOf(*MustMake("none"), 2, options, 1),
            (std::vector<double>{0.5, 0.5}));
}

TEST(KnownBugsTest, QueryOffsetShiftsPositions) {
  // Weights are proportional to 1 / (1 + distance), so their ratio reveals the
  // distances.
  Arguments kernel;
  kernel.Set("p", std::vector<double>{1.0});
  kernel.Set("a", std::vector<double>{1.0});
  AttentionOptions options;
  options.causal = true;
  options.query_offset = 5;
  const auto weights = WeightsOf(*MustMake("kerple", kernel), 2, options);
  // The keys are 5 and 4 positions before the query.
  EXPECT_NEAR(weights[0] / weights[1], 5.0 / 6, 1e-12);
}

TEST(KnownBugsTest, GroupedQueryHeadsAreAdjacent) {
  const Tensor q = RandomTensor(DType::kFloat64, {1, 4, 1, 2}, 1, "q");
  const Tensor k = RandomTensor(DType::kFloat64, {1, 2, 1, 2}, 1, "k");
  // With a single key, the output is the value of the key head that is used.
  const Tensor v = MakeTensor(DType::kFloat64, {1, 2, 1, 1}, {10, 20});
  auto job = AttentionJob::Create(*MustMake("none"),
                                  {q.view(), k.view(), v.view()}, {});
  ThreadPool pool(1);
  EXPECT_EQ(Values(job->Run(pool, nullptr)->output),
            (std::vector<double>{10, 10, 20, 20}));
}

TEST(KnownBugsTest, RejectsOddSizes) {
  Arguments odd;
  odd.Set("rotary_dim", int64_t{3});
  EXPECT_FALSE(MustMake("rope", odd)->Compile({.dim = 8}).ok());
  const Tensor x = RandomTensor(DType::kFloat32, {1, 2, 6}, 1, "x");
  ModuleInputs inputs;
  inputs.x = x.view();
  inputs.head_count = 4;
  EXPECT_EQ(FieldOf(ModuleJob::Create(*MustMake("none"), inputs, {}).status()),
            "module.head_count");
}

// The parameters that a scheme draws from a seed; empty if it draws none.
std::vector<double> DrawnParameters(const SchemeInfo& info, uint64_t seed) {
  for (const Parameter& parameter : info.parameters) {
    if (parameter.kind != ParameterKind::kSeed) continue;
    Arguments arguments;
    arguments.Set(parameter.name, seed);
    auto compiled =
        MustMake(info.name, arguments)
            ->Compile({.dim = 4, .head_count = 4, .trainable = true});
    EXPECT_TRUE(compiled.ok()) << compiled.status();
    absl::Span<double> numbers;
    if (auto* code = std::get_if<std::unique_ptr<AdditiveCode>>(&*compiled)) {
      numbers = (*code)->parameters();
    } else if (auto* bias =
                   std::get_if<std::unique_ptr<ScoreBias>>(&*compiled)) {
      numbers = (*bias)->parameters();
    }
    return {numbers.begin(), numbers.end()};
  }
  return {};
}

TEST(KnownBugsTest, RandomComponentsUseSeparateStreams) {
  // Parameters do not depend on what else is drawn from the same seed.
  std::vector<std::vector<double>> forwards, backwards;
  const auto schemes = AllSchemes();
  for (size_t n = 0; n < schemes.size(); ++n) {
    forwards.push_back(DrawnParameters(schemes[n], 7));
  }
  for (size_t n = schemes.size(); n-- > 0;) {
    backwards.insert(backwards.begin(), DrawnParameters(schemes[n], 7));
  }
  EXPECT_EQ(forwards, backwards);
  // No two components draw the same parameters. The ranges of kerple's p and a
  // differ, so they are compared after normalisation.
  size_t drawing = 0;
  for (size_t n = 0; n < schemes.size(); ++n) {
    drawing += forwards[n].empty() ? 0 : 1;
    for (size_t other = 0; other < n; ++other) {
      if (forwards[n].empty()) continue;
      EXPECT_NE(forwards[n], forwards[other]) << schemes[n].name;
    }
    if (schemes[n].name == "kerple") {
      EXPECT_NE((forwards[n][0] - 0.01) / 1.99, (forwards[n][4] - 0.01) / 0.99);
    }
  }
  EXPECT_GE(drawing, 4u);
}

// A scheme with parameters drawn from the seed of the layer yields the same
// output as one with the same parameters passed in.
TEST(KnownBugsTest, SchemesThatDrawParametersDoNotChangeWeights) {
  const SchemeInfo& learned = *FindScheme("learned");
  const std::vector<double> rows = DrawnParameters(learned, 7);
  const Tensor table = MakeTensor(
      DType::kFloat64, {static_cast<int64_t>(rows.size()) / 4, 4}, rows);
  Arguments drawn, given;
  drawn.Set("seed", uint64_t{7});
  given.Set("table", table.view());
  const Tensor x = RandomTensor(DType::kFloat64, {1, 5, 4}, 1, "x");
  const auto output = [&](const Arguments& arguments) {
    const auto scheme = MustMake("learned", arguments);
    ModuleInputs inputs;
    inputs.x = x.view();
    inputs.head_count = 2;
    inputs.seed = 7;
    const auto job = ModuleJob::Create(*scheme, inputs, {});
    EXPECT_TRUE(job.ok()) << job.status();
    ThreadPool pool(1);
    return Bytes(job->Run(pool, nullptr)->output);
  };
  EXPECT_EQ(output(drawn), output(given));
}

TEST(KnownBugsTest, AlibiDoesNotReplaceTheCausalMask) {
  // The head with the smallest slope still gives weight to the farthest key.
  AttentionOptions options;
  options.causal = true;
  options.query_offset = 511;
  const auto weights = WeightsOf(*MustMake("alibi"), 512, options, 1, 8);
  EXPECT_GT(weights[7 * 512], 1e-4);
  // Causality must hide the key after the query in every head.
  const auto hidden = WeightsOf(*MustMake("alibi"), 513, options, 1, 8);
  for (int64_t h = 0; h < 8; ++h) EXPECT_EQ(hidden[h * 513 + 512], 0);
}

}  // namespace
}  // namespace locus
