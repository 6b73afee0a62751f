// What is particular to xPos, KERPLE, FIRE and Sandwich, to angles in single
// precision and to randomised positions, beside the goldens.
#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/status.h"
#include "tests/support/core_testing.h"

namespace locus {
namespace {

using testing::Difference;
using testing::MakeTensor;
using testing::MustMake;
using testing::RandomTensor;
using testing::Values;

template <typename T>
Arguments With(absl::string_view name, T value, Arguments arguments = {}) {
  arguments.Set(name, std::move(value));
  return arguments;
}

std::unique_ptr<ScoreBias> BiasOf(const Scheme& scheme, int64_t heads,
                                  int64_t max_position = 4096,
                                  bool trainable = false) {
  auto compiled = scheme.Compile({.head_count = heads,
                                  .max_position = max_position,
                                  .trainable = trainable});
  EXPECT_TRUE(compiled.ok()) << compiled.status();
  return std::get<std::unique_ptr<ScoreBias>>(*std::move(compiled));
}

// Attention of one head over `length` tokens, causal.
absl::StatusOr<AttentionOutputs> Attend(const Scheme& scheme, int64_t length,
                                        DType dtype, bool causal = true) {
  const Tensor q = RandomTensor(dtype, {1, 1, length, 8}, 1, "q");
  const Tensor k = RandomTensor(dtype, {1, 1, length, 8}, 1, "k");
  AttentionOptions options;
  options.causal = causal;
  auto job =
      AttentionJob::Create(scheme, {q.view(), k.view(), k.view()}, options);
  if (!job.ok()) return job.status();
  ThreadPool pool(2);
  return job->Run(pool, nullptr);
}

// --- xPos ------------------------------------------------------------------

TEST(XposTest, ScoresDecayByZetaToTheDistance) {
  const auto compiled = MustMake("xpos")->Compile({.dim = 4});
  const auto& queries = std::get<Rotation>(*compiled);
  const Rotation keys = queries.OfKeys();
  double cos_q[2], sin_q[2], cos_k[2], sin_k[2];
  queries.Angles(1024, cos_q, sin_q);
  keys.Angles(512, cos_k, sin_k);
  for (int k = 0; k < 2; ++k) {
    const double zeta = (2 * k + 1.6) / 5.6;
    const double product =
        std::hypot(cos_q[k], sin_q[k]) * std::hypot(cos_k[k], sin_k[k]);
    EXPECT_NEAR(product, zeta, 1e-14);
  }
}

TEST(XposTest, CentreCancelsInTheScores) {
  const auto zero = MustMake("xpos", With("centre", int64_t{0}));
  const auto far = MustMake("xpos", With("centre", int64_t{4000}));
  EXPECT_LT(Difference(Values(Attend(*far, 64, DType::kFloat64)->output),
                       Values(Attend(*zero, 64, DType::kFloat64)->output)),
            1e-12);
}

// A few tokens far apart, causal, in both kernels.
absl::StatusOr<AttentionOutputs> AttendFarApart(const Arguments& arguments,
                                                DType dtype, int64_t last,
                                                int64_t queries = 24) {
  const Tensor q = RandomTensor(dtype, {1, 1, queries, 8}, 1, "q");
  const Tensor k = RandomTensor(dtype, {1, 1, queries, 8}, 1, "k");
  std::vector<int64_t> ids(queries);
  for (int64_t n = 0; n < queries; ++n) ids[n] = last * n / (queries - 1);
  AttentionOptions options;
  options.causal = true;
  options.query_positions = *Positions::Ids(ids);
  options.key_positions = *Positions::Ids(ids);
  auto job = AttentionJob::Create(*MustMake("xpos", arguments),
                                  {q.view(), k.view(), k.view()}, options);
  if (!job.ok()) return job.status();
  ThreadPool pool(2);
  return job->Run(pool, nullptr);
}

TEST(XposTest, ScoresHoldInSinglePrecisionHoweverLargeTheFactorsAre) {
  // With its centre at 0 the factors of 40,000 do not fit, nor those of 200,000
  // with any centre; scores do.
  for (const int64_t last : {40000, 70000, 200000, 500000}) {
    const auto single = AttendFarApart({}, DType::kFloat32, last);
    ASSERT_TRUE(single.ok()) << single.status();
    const auto exact = AttendFarApart({}, DType::kFloat64, last);
    EXPECT_LT(Difference(Values(single->output), Values(exact->output)), 2e-5)
        << last;
  }
  const auto off =
      AttendFarApart(With("centre", int64_t{0}), DType::kFloat32, 40000);
  ASSERT_TRUE(off.ok()) << off.status();
  EXPECT_LT(
      Difference(Values(off->output),
                 Values(AttendFarApart({}, DType::kFloat64, 40000)->output)),
      2e-5);
}

TEST(XposTest, WhatDoublesCannotHoldIsRefusedWithWhatTheyCan) {
  const absl::Status refused =
      AttendFarApart({}, DType::kFloat32, 600000).status();
  EXPECT_EQ(FieldOf(refused), "scheme.xpos.scale_base");
  EXPECT_THAT(std::string(refused.message()),
              ::testing::HasSubstr("up to 283286 from the centre"));
}

TEST(XposTest, TablesHoldWhatTheirTypeCan) {
  const auto encode = [](DType dtype, int64_t position) {
    EncodeOptions options;
    options.dim = 8;
    options.dtype = dtype;
    options.positions = *Positions::Ids({position});
    return EncodeJob::Create(*MustMake("xpos", With("centre", int64_t{0})),
                             options);
  };
  ThreadPool pool(1);
  const auto holds = [&](DType dtype, int64_t position) {
    const auto job = encode(dtype, position);
    if (!job.ok()) return false;
    const auto encoding = job->Run(pool, nullptr);
    const auto& turns = std::get<RotationEncoding>(encoding->numbers);
    const auto cos = Values(turns.cos);
    const auto sin = Values(turns.sin);
    for (size_t k = 0; k < cos.size(); ++k) {
      const double size = std::hypot(cos[k], sin[k]);
      if (!(size > 0 && std::isfinite(size))) return false;
    }
    return true;
  };
  EXPECT_TRUE(holds(DType::kFloat32, 35600));
  EXPECT_FALSE(holds(DType::kFloat32, 36000));
  EXPECT_EQ(FieldOf(encode(DType::kFloat32, 36000).status()),
            "scheme.xpos.centre");
  EXPECT_TRUE(holds(DType::kFloat64, 280000));
  EXPECT_FALSE(holds(DType::kFloat64, 300000));
}

TEST(XposTest, FarPositionsAreCentredOnThemselves) {
  const auto scheme = MustMake("xpos");
  EXPECT_TRUE(
      scheme
          ->Compile(
              {.dim = 8, .max_position = 1000100, .min_position = 1000000})
          .ok());
  EXPECT_EQ(
      FieldOf(scheme->Compile({.dim = 8, .max_position = 1000100}).status()),
      "scheme.xpos.scale_base");
}

TEST(XposTest, CallsInBothDirectionsAreRefused) {
  EXPECT_EQ(
      FieldOf(Attend(*MustMake("xpos"), 4, DType::kFloat32, false).status()),
      "options.causal");
}

TEST(XposTest, OddHeadsAreRefused) {
  EXPECT_EQ(FieldOf(MustMake("xpos")->Compile({.dim = 7}).status()),
            "scheme.xpos.base");
}

// --- KERPLE ----------------------------------------------------------------

Arguments Kerple(const std::string& kernel, std::vector<double> p,
                 std::vector<double> a) {
  return With("kernel", kernel, With("p", p, With("a", a)));
}

TEST(KerpleTest, FollowsBothFormulas) {
  const auto log =
      BiasOf(*MustMake("kerple", Kerple("LOG", {0.5, 3}, {0.1, 2})), 2);
  EXPECT_DOUBLE_EQ(log->At(0, 10, 3), -0.5 * std::log(1 + 0.1 * 7));
  EXPECT_DOUBLE_EQ(log->At(1, 10, 3), -3 * std::log(1 + 2.0 * 7));
  const auto power =
      BiasOf(*MustMake("kerple", Kerple("POWER", {0.5, 2}, {0.1, 2})), 2);
  EXPECT_DOUBLE_EQ(power->At(0, 10, 3), -0.1 * std::sqrt(7.0));
  EXPECT_DOUBLE_EQ(power->At(1, 10, 3), -2.0 * 49);
  EXPECT_EQ(power->At(1, 3, 3), 0);
}

TEST(KerpleTest, NumbersOutOfBoundsAreRefused) {
  const auto field = [](const Arguments& arguments) {
    return FieldOf(MakeScheme(*FindScheme("kerple"), arguments).status());
  };
  EXPECT_EQ(field(Kerple("LOG", {0.001}, {1})), "kerple.p[0]");
  EXPECT_EQ(field(Kerple("LOG", {1, 1}, {1, 0})), "kerple.a[1]");
  EXPECT_EQ(field(Kerple("POWER", {2.5}, {1})), "kerple.p[0]");
  EXPECT_EQ(field(Kerple("LOG", {2.5}, {1})), "");
  EXPECT_EQ(field(Kerple("LOG", {1, 1}, {1})), "kerple.a");
  EXPECT_EQ(FieldOf(MustMake("kerple", Kerple("LOG", {1}, {1}))
                        ->Compile({.head_count = 2})
                        .status()),
            "scheme.kerple.p");
}

TEST(KerpleTest, TailsAreBounds) {
  for (const char* const kernel : {"LOG", "POWER"}) {
    const std::vector<double> p = {0.5, 1.0, 1.5, 2.0};
    const std::vector<double> a = {0.02, 0.1, 0.5, 2.0};
    const auto bias = BiasOf(*MustMake("kerple", Kerple(kernel, p, a)), 4);
    for (int64_t h = 0; h < 4; ++h) {
      for (const int64_t offset : {1, 5, 100}) {
        for (const int64_t count : {1, 10, 3000}) {
          double sum = 0;
          for (int64_t n = 0; n < count; ++n) {
            sum += std::exp(bias->At(h, offset + n, 0));
          }
          EXPECT_GE(bias->LogTail(h, offset, count), std::log(sum) - 1e-12)
              << kernel << " " << h << " " << offset << " " << count;
        }
      }
    }
  }
}

TEST(KerpleTest, StepsAreNoSteeperThanSaid) {
  for (const char* const kernel : {"LOG", "POWER"}) {
    const auto bias =
        BiasOf(*MustMake("kerple", With("kernel", std::string(kernel))), 8, 99);
    for (int64_t h = 0; h < 8; ++h) {
      for (int64_t n = 1; n < 100; ++n) {
        EXPECT_LE(bias->At(h, n - 1, 0) - bias->At(h, n, 0),
                  bias->Steepness(n) * (1 + 1e-12));
      }
    }
    EXPECT_EQ(bias->Steepness(0), 0);
  }
}

// --- Sandwich --------------------------------------------------------------

TEST(SandwichTest, IsTheProductOfTwoCodes) {
  const auto bias = BiasOf(*MustMake("sandwich"), 4);
  for (const int64_t distance : {0, 1, 77, 4000}) {
    double sum = -64;
    for (int k = 1; k <= 64; ++k) {
      sum += std::cos(static_cast<double>(distance) *
                      std::pow(10000.0, -2.0 * k / 128));
    }
    for (int h = 1; h <= 4; ++h) {
      EXPECT_NEAR(bias->At(h - 1, distance, 0), sum * 4 / (8.0 * h), 1e-10);
    }
  }
}

TEST(SandwichTest, DistancesBeyondTheCallsAreComputedWhenAskedFor) {
  const auto kept = BiasOf(*MustMake("sandwich"), 2, 5000);
  const auto none = BiasOf(*MustMake("sandwich"), 2, 0);
  for (const int64_t distance : {1, 63, 64, 65, 5000}) {
    EXPECT_NEAR(none->At(1, distance, 0), kept->At(1, distance, 0), 1e-12);
  }
}

TEST(SandwichTest, StepsAreNoSteeperThanSaidAndNoneIsAboveZero) {
  const auto bias = BiasOf(*MustMake("sandwich"), 16, 999);
  EXPECT_EQ(bias->Steepness(0), 0);
  for (int64_t n = 1; n < 1000; ++n) {
    EXPECT_LE(std::abs(bias->At(0, n, 0) - bias->At(0, n - 1, 0)),
              bias->Steepness(n));
    EXPECT_LE(bias->At(0, n, 0), bias->At(0, 0, 0));
  }
}

TEST(SandwichTest, OddWidthsAreRefused) {
  EXPECT_EQ(
      FieldOf(MakeScheme(*FindScheme("sandwich"), With("width", int64_t{7}))
                  .status()),
      "sandwich.width");
}

// --- FIRE ------------------------------------------------------------------

TEST(FireTest, LinesEqualTheNetwork) {
  // Compiled for training it evaluates the network, otherwise its pieces.
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

// The unit ends at 1e17, where one more is the same number.
TEST(FireTest, UnitsThatEndFarOutCount) {
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

TEST(FireTest, RowsEqualSingleNumbers) {
  const auto scheme =
      MustMake("fire", With("threshold", 60.0, With("seed", uint64_t{3})));
  const auto bias = BiasOf(*scheme, 3, 700);
  // Before, around and after the query; the last reaches past what is kept.
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

TEST(FireTest, DependsOnTheQuerysPositionPastTheThreshold) {
  const auto bias = BiasOf(*MustMake("fire", With("threshold", 100.0)), 1);
  EXPECT_EQ(bias->At(0, 20, 10), bias->At(0, 100, 90));
  EXPECT_NE(bias->At(0, 20, 10), bias->At(0, 200, 190));
  EXPECT_FALSE(bias->depends_on_offset_alone());
}

TEST(FireTest, WeightsComeTogetherAndFit) {
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

// --- Angles in single precision --------------------------------------------

TEST(SinglePrecisionTest, ErrsAsFrameworksDo) {
  const Geometry far{.dim = 128, .max_position = 1000000};
  const auto exact = std::get<Rotation>(*MustMake("rope")->Compile(far));
  const auto single = std::get<Rotation>(
      *MustMake("rope", With("angles", std::string("FLOAT32")))->Compile(far));
  std::vector<float> cos(64), sin(64), exact_cos(64), exact_sin(64);
  single.Angles(1000000, cos.data(), sin.data());
  exact.Angles(1000000, exact_cos.data(), exact_sin.data());
  double largest = 0;
  for (int k = 0; k < 64; ++k) {
    // The steps of a framework, in the words of the C library.
    const float frequency =
        1.0F / std::pow(10000.0F, static_cast<float>(2 * k) / 128.0F);
    EXPECT_EQ(single.frequencies[k], frequency);
    const float angle = 1000000.0F * frequency;
    EXPECT_NEAR(cos[k], std::cos(angle), 1.2e-7);
    EXPECT_NEAR(sin[k], std::sin(angle), 1.2e-7);
    largest = std::max<double>(largest, std::abs(cos[k] - exact_cos[k]));
  }
  // Up to half a unit of an angle of 2^19, and of a power, its exponent and its
  // inverse.
  EXPECT_GT(largest, 1e-3);
  EXPECT_LT(largest, 0.2);
}

TEST(SinglePrecisionTest, NearPositionsAgree) {
  const auto rope = MustMake("rope", With("angles", std::string("FLOAT32")));
  EXPECT_LT(Difference(
                Values(Attend(*rope, 40, DType::kFloat32)->output),
                Values(Attend(*MustMake("rope"), 40, DType::kFloat32)->output)),
            2e-5);
}

// --- Randomised positions --------------------------------------------------

TEST(RandomizedTest, DrawsDistinctPositionsInOrder) {
  const auto drawn = *DrawPositions({.maximum = 1000, .seed = 3}, 200);
  ASSERT_EQ(drawn.size(), 200);
  EXPECT_TRUE(std::is_sorted(drawn.begin(), drawn.end()));
  EXPECT_EQ(std::set<int64_t>(drawn.begin(), drawn.end()).size(), 200);
  EXPECT_GE(drawn.front(), 0);
  EXPECT_LT(drawn.back(), 1000);
  EXPECT_EQ(drawn, *DrawPositions({.maximum = 1000, .seed = 3}, 200));
  EXPECT_NE(drawn, *DrawPositions({.maximum = 1000, .seed = 4}, 200));
}

// One more than the largest integer would be the smallest.
TEST(RandomizedTest, TheLargestPositionIsRefused) {
  constexpr int64_t kLargest = std::numeric_limits<int64_t>::max();
  for (const int64_t maximum : {int64_t{2048}, int64_t{1} << 40, kLargest}) {
    Positions queries = *Positions::Ids({0, kLargest});
    Positions keys;
    EXPECT_FALSE(
        Randomize({.maximum = maximum, .seed = 1}, &queries, &keys).ok())
        << maximum;
  }
}

TEST(RandomizedTest, AllOfTheMaximumAreThePositionsThemselves) {
  const auto drawn = *DrawPositions({.maximum = 50, .seed = 3}, 50);
  for (int64_t n = 0; n < 50; ++n) EXPECT_EQ(drawn[n], n);
}

TEST(RandomizedTest, AnySchemeSeesTheDrawnPositions) {
  const auto drawn = *DrawPositions({.maximum = 300, .seed = 9}, 12);
  for (const SchemeInfo& info : AllSchemes()) {
    SCOPED_TRACE(info.name);
    EncodeOptions options;
    options.dim = 8;
    options.head_count = 2;
    options.dtype = DType::kFloat64;
    options.positions = *Positions::Range(0, 12);
    const auto scheme = MustMake(info.name);
    scheme->Randomize({.maximum = 300, .seed = 9});
    const Tensor x = RandomTensor(DType::kFloat64, {2, 12, 12}, 1, "x");
    const Tensor rows = RandomTensor(DType::kFloat64, {12, 8}, 1, "x");
    options.input = info.site == Site::kScores ? x.view() : rows.view();
    ThreadPool pool(1);
    const auto random = EncodeJob::Create(*scheme, options)->Run(pool, nullptr);
    options.positions = *Positions::Ids(drawn);
    const auto given =
        EncodeJob::Create(*MustMake(info.name), options)->Run(pool, nullptr);
    EXPECT_EQ(Difference(Values(*random->output), Values(*given->output)), 0);
  }
}

TEST(RandomizedTest, TooManyForTheMaximumAreRefused) {
  const auto scheme = MustMake("rope");
  scheme->Randomize({.maximum = 10, .seed = 0});
  EncodeOptions options;
  options.dim = 8;
  options.positions = *Positions::Range(0, 11);
  EXPECT_EQ(FieldOf(EncodeJob::Create(*scheme, options).status()),
            "scheme.randomized.maximum");
  options.positions = *Positions::Range(0, 10);
  EXPECT_TRUE(EncodeJob::Create(*scheme, options).ok());
}

}  // namespace
}  // namespace locus
