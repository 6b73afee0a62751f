// xPos: decay, range of the factors, and rejected calls.
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/status.h"
#include "tests/core/encoding/schemes/scheme_testing.h"
#include "tests/support/core_testing.h"

namespace locus {
namespace {

using testing::Attend;
using testing::Difference;
using testing::MustMake;
using testing::RandomTensor;
using testing::Values;
using testing::With;

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

// Causal attention over a few tokens at positions from 0 to `last`.
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

TEST(XposTest, SinglePrecisionMatchesDoubleWhereFactorsOverflow) {
  // In single precision, factors overflow at 40,000 with the centre at 0, and
  // at 200,000 with any centre. The scores do not overflow.
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

TEST(XposTest, RejectsPositionsWhoseFactorsOverflowDouble) {
  const absl::Status rejected =
      AttendFarApart({}, DType::kFloat32, 600000).status();
  EXPECT_EQ(FieldOf(rejected), "scheme.xpos.scale_base");
  EXPECT_THAT(std::string(rejected.message()),
              ::testing::HasSubstr("up to 283286 from the centre"));
}

TEST(XposTest, RejectsTablesWhoseFactorsOverflowTheirType) {
  const auto encode = [](DType dtype, int64_t position) {
    EncodeOptions options;
    options.dim = 8;
    options.dtype = dtype;
    options.positions = *Positions::Ids({position});
    return EncodeJob::Create(*MustMake("xpos", With("centre", int64_t{0})),
                             options);
  };
  ThreadPool pool(1);
  const auto fits = [&](DType dtype, int64_t position) {
    const auto job = encode(dtype, position);
    if (!job.ok()) return false;
    const auto encoding = job->Run(pool, nullptr);
    const auto& rotation = std::get<RotationEncoding>(encoding->numbers);
    const auto cos = Values(rotation.cos);
    const auto sin = Values(rotation.sin);
    for (size_t k = 0; k < cos.size(); ++k) {
      const double size = std::hypot(cos[k], sin[k]);
      if (!(size > 0 && std::isfinite(size))) return false;
    }
    return true;
  };
  EXPECT_TRUE(fits(DType::kFloat32, 35600));
  EXPECT_FALSE(fits(DType::kFloat32, 36000));
  EXPECT_EQ(FieldOf(encode(DType::kFloat32, 36000).status()),
            "scheme.xpos.centre");
  EXPECT_TRUE(fits(DType::kFloat64, 280000));
  EXPECT_FALSE(fits(DType::kFloat64, 300000));
}

TEST(XposTest, DefaultCentreIsTheMiddleOfTheCall) {
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

TEST(XposTest, RejectsBidirectionalCalls) {
  EXPECT_EQ(
      FieldOf(Attend(*MustMake("xpos"), 4, DType::kFloat32, false).status()),
      "options.causal");
}

TEST(XposTest, RejectsOddHeadDimensions) {
  EXPECT_EQ(FieldOf(MustMake("xpos")->Compile({.dim = 7}).status()),
            "scheme.xpos.base");
}

}  // namespace
}  // namespace locus
