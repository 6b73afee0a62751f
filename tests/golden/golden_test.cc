// Compares core with expected results from an independent Python script.
//
// The tolerances follow from the types:
//
//   rounding   A value stored with p significant bits has an error of half a
//              unit in the last place, |x| 2^-p. The tolerance is a whole unit,
//              plus the spacing of subnormals, 2^-24, for FLOAT16.
//   angles     The product of position p and frequency w in double has an error
//              of p 2^-52: the power that computes w may be off by a unit, and
//              the product rounds. The tolerance is p 2^-51, which is 1e-6 at
//              position 2^31 and below the documented 2e-6 of FLOAT32 tables.
//   powers     In base^-e, the rounding error of e is multiplied by e ln(base),
//              which is up to 14 for a base of 1e6. The tolerance is 16 units.
//   double     Sums of a few dozen products: 1e-12 of the max value.
//   float      The single-precision kernel: 2e-5 of the max value.
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "core/base/random.h"
#include "core/encoding/registry.h"
#include "core/encoding/rope_scaling/scaling.h"
#include "gtest/gtest.h"
#include "tests/golden/golden_cases.h"

namespace locus::golden {
namespace {

constexpr double kDouble = 1e-12;
constexpr double kFloat = 2e-5;
constexpr double kFloatTable = 2e-6;
constexpr double kMaxHalf = 65504;

// Spacing of the numbers of a type just above 1.
double UnitOf(DType dtype) {
  switch (dtype) {
    case DType::kFloat64:
      return 0x1p-52;
    case DType::kFloat32:
      return 0x1p-23;
    case DType::kFloat16:
      return 0x1p-10;
    default:
      return 0x1p-7;
  }
}

double MaxMagnitude(const std::vector<double>& values) {
  double max = 0;
  for (const double value : values) {
    if (std::isfinite(value)) max = std::max(max, std::abs(value));
  }
  return max;
}

// `tolerance` is absolute; the rounding of the type is added to it. If
// `factors` is not empty, the tolerance of each element is multiplied by its
// factor.
void ExpectNear(const TensorView& got, const Json& want, double tolerance,
                const std::string& name,
                const std::vector<double>& factors = {}) {
  ASSERT_EQ(got.shape, ShapeOf(want)) << name;
  const std::vector<double> values = NumbersOf(got);
  const std::vector<double> wanted = NumbersOf(want);
  const double subnormals = got.dtype == DType::kFloat16 ? 0x1p-24 : 0;
  for (size_t i = 0; i < values.size(); ++i) {
    const bool overflows =
        got.dtype == DType::kFloat16 && std::abs(wanted[i]) > kMaxHalf;
    if (!std::isfinite(wanted[i]) || overflows) {
      ASSERT_EQ(values[i], std::copysign(HUGE_VAL, wanted[i]))
          << name << ", element " << i;
      continue;
    }
    ASSERT_NEAR(values[i], wanted[i],
                subnormals + tolerance * (factors.empty() ? 1 : factors[i]) +
                    UnitOf(got.dtype) * std::abs(wanted[i]))
        << name << ", element " << i;
  }
}

void ExpectNear(const std::vector<double>& got, const Json& want,
                const std::string& name) {
  ASSERT_EQ(got.size(), want.size()) << name;
  for (size_t i = 0; i < got.size(); ++i) {
    ASSERT_NEAR(got[i], NumberOf(want[i]), 16 * 0x1p-52 * std::abs(got[i]))
        << name;
  }
}

double TableTolerance(DType dtype, int64_t max_position) {
  if (dtype != DType::kFloat64) return kFloatTable;
  return kDouble + static_cast<double>(max_position) * 0x1p-51;
}

// Absolute tolerance of an attention output: `relative` times the max
// expected value, plus the effect of angle errors on a score, for up to a dozen
// channels of magnitude 4.
double AttentionTolerance(double relative, int64_t max_position,
                          const Json& want) {
  const double angle = static_cast<double>(max_position) * 0x1p-48;
  return (relative + angle) * std::max(1.0, MaxMagnitude(NumbersOf(want)));
}

class GoldenTest : public testing::TestWithParam<DType> {
 protected:
  ThreadPool pool_{2};
};

// Euclidean length of each vector (x[i], y[i]).
std::vector<double> Lengths(const std::vector<double>& x,
                            const std::vector<double>& y) {
  std::vector<double> lengths(x.size());
  for (size_t i = 0; i < x.size(); ++i) lengths[i] = std::hypot(x[i], y[i]);
  return lengths;
}

void CheckEncoding(const Encoding& got, const Json& want, double tolerance) {
  if (const auto* additive = std::get_if<AdditiveEncoding>(&got.numbers)) {
    ExpectNear(additive->table.view(), want["table"], tolerance, "table");
  } else if (const auto* rotation =
                 std::get_if<RotationEncoding>(&got.numbers)) {
    // A decay or attention factor multiplies the errors, too.
    const std::vector<double> factors =
        Lengths(NumbersOf(want["cos"]), NumbersOf(want["sin"]));
    ExpectNear(rotation->cos.view(), want["cos"], tolerance, "cos", factors);
    ExpectNear(rotation->sin.view(), want["sin"], tolerance, "sin", factors);
    // The output is compared with the max factor for all channels.
    tolerance *= std::max(1.0, MaxMagnitude(factors));
    ExpectNear(rotation->frequencies, want["frequencies"], "frequencies");
    const double factor = want.value("attention_factor", 1.0);
    EXPECT_NEAR(rotation->attention_factor, factor, 4 * 0x1p-52 * factor);
  } else if (const auto* bias = std::get_if<BiasEncoding>(&got.numbers)) {
    ExpectNear(bias->bias.view(), want["bias"], tolerance, "bias");
    ExpectNear(bias->slopes, want.value("slopes", Json::array()), "slopes");
  } else {
    EXPECT_FALSE(want.contains("table") || want.contains("cos") ||
                 want.contains("bias"));
  }
  ASSERT_EQ(got.output.has_value(), want.contains("output"));
  // A rotated channel is the sum of two channels with magnitudes below 4.
  if (got.output) {
    ExpectNear(got.output->view(), want["output"], 8 * tolerance, "output");
  }
}

TEST_P(GoldenTest, Encode) {
  for (const Json& json : Section("encode")) {
    SCOPED_TRACE(json["name"]);
    Request request(json, GetParam());
    const auto scheme = request.MakeScheme();
    const auto job = EncodeJob::Create(*scheme, request.Encode());
    ASSERT_TRUE(job.ok()) << job.status();
    const auto got = job->Run(pool_, nullptr);
    ASSERT_TRUE(got.ok()) << got.status();
    CheckEncoding(*got, json["expect"],
                  TableTolerance(GetParam(), request.max_position()));
  }
}

void CheckAttention(const AttentionOutputs& got, const Json& want,
                    double relative, int64_t max_position) {
  const auto tolerance = [&](const Json& tensor) {
    return AttentionTolerance(relative, max_position, tensor);
  };
  ExpectNear(got.output.view(), want["output"], tolerance(want["output"]),
             "output");
  if (want.contains("log_sum_exp")) {
    ExpectNear(got.log_sum_exp->view(), want["log_sum_exp"],
               tolerance(want["log_sum_exp"]), "log_sum_exp");
  }
  ASSERT_EQ(got.weights.has_value(), want.contains("weights"));
  if (got.weights) {
    ExpectNear(got.weights->view(), want["weights"], tolerance(want["weights"]),
               "weights");
  }
}

AttentionJob MakeAttention(Request& request, const Scheme& scheme) {
  const AttentionInputs inputs = request.Heads();
  auto job = AttentionJob::Create(
      scheme, inputs, request.Options(inputs.q.extent(2), inputs.k.extent(2)));
  EXPECT_TRUE(job.ok()) << job.status();
  return *std::move(job);
}

TEST_P(GoldenTest, Attend) {
  for (const Json& json : Section("attend")) {
    SCOPED_TRACE(json["name"]);
    Request request(json, GetParam());
    const auto scheme = request.MakeScheme();
    const auto got = MakeAttention(request, *scheme).Run(pool_, nullptr);
    ASSERT_TRUE(got.ok()) << got.status();
    CheckAttention(*got, json["expect"],
                   GetParam() == DType::kFloat64 ? kDouble : kFloat,
                   request.max_position());
  }
}

// The reference computes in double for all types; only the result is rounded.
TEST_P(GoldenTest, AttendReference) {
  for (const Json& json : Section("attend")) {
    SCOPED_TRACE(json["name"]);
    Request request(json, GetParam());
    const auto scheme = request.MakeScheme();
    CheckAttention(MakeAttention(request, *scheme).RunReference(),
                   json["expect"], kDouble, request.max_position());
  }
}

AttentionOutputs RunModule(const Json& json, DType dtype, ThreadPool& pool) {
  Request request(json, dtype);
  const auto scheme = request.MakeScheme();
  const auto job =
      ModuleJob::Create(*scheme, request.Module(), request.Options(0, 0));
  EXPECT_TRUE(job.ok()) << job.status();
  auto outputs = job->Run(pool, nullptr);
  EXPECT_TRUE(outputs.ok()) << outputs.status();
  return *std::move(outputs);
}

TEST_P(GoldenTest, Module) {
  for (const Json& json : Section("module")) {
    SCOPED_TRACE(json["name"]);
    const AttentionOutputs got = RunModule(json, GetParam(), pool_);
    // Tokens have no type of their own; their results are in single precision.
    const bool is_double = got.output.dtype() == DType::kFloat64;
    EXPECT_TRUE(json.contains("tokens") ||
                is_double == (GetParam() == DType::kFloat64));
    CheckAttention(got, json["expect"], is_double ? kDouble : kFloat, 0);
  }
}

INSTANTIATE_TEST_SUITE_P(DTypes, GoldenTest,
                         testing::Values(DType::kFloat64, DType::kFloat32,
                                         DType::kFloat16, DType::kBFloat16),
                         [](const auto& test) {
                           return std::string(NameOf(test.param));
                         });

// Whether there is an encoding case of this scheme whose parameters satisfy the
// condition.
template <typename Condition>
bool HasCase(absl::string_view scheme, const Condition& condition) {
  for (const Json& json : Section("encode")) {
    const Json& given = json["scheme"];
    const auto found = given.find(std::string(scheme));
    if (found != given.end() && condition(*found)) return true;
  }
  return false;
}

TEST(GoldenCoverageTest, EverySchemeHasAGolden) {
  for (const SchemeInfo& info : AllSchemes()) {
    EXPECT_TRUE(HasCase(info.name, [](const Json&) { return true; }))
        << info.name;
    for (const Parameter& parameter : info.parameters) {
      for (const absl::string_view choice : parameter.choices) {
        // The first choice is the default and may be omitted. (Policy ERROR,
        // the first choice of `learned`, has no result past the table.)
        if (choice == parameter.choices.front()) continue;
        EXPECT_TRUE(HasCase(info.name,
                            [&](const Json& given) {
                              return given.value(parameter.name, "") == choice;
                            }))
            << info.name << " " << parameter.name << " " << choice;
      }
    }
  }
}

TEST(GoldenCoverageTest, EveryScalingHasAGoldenInBothPrecisions) {
  for (const RopeScalingInfo& info : AllRopeScalings()) {
    for (const bool single : {false, true}) {
      EXPECT_TRUE(HasCase("rope",
                          [&](const Json& given) {
                            return given.contains(std::string(info.name)) &&
                                   (given.value("angles", "EXACT") ==
                                    "FLOAT32") == single;
                          }))
          << info.name << (single ? " in single precision" : "");
    }
  }
}

TEST(GoldenRandomTest, StreamsMatchTheirDefinition) {
  for (const Json& json : Section("random")) {
    const auto purpose = json["purpose"].get<std::string>();
    SCOPED_TRACE(purpose);
    const auto seed = json["seed"].get<uint64_t>();
    RandomStream next(seed, purpose);
    for (const Json& want : json["next"]) {
      EXPECT_EQ(next.Next(), want.get<uint64_t>());
    }
    RandomStream uniform(seed, purpose);
    for (const Json& want : json["uniform"]) {
      EXPECT_EQ(uniform.Uniform(), want.get<double>());
    }
    // The logarithms differ by a few units in the last place.
    RandomStream normal(seed, purpose);
    for (const Json& want : json["normal"]) {
      const double value = want.get<double>();
      EXPECT_NEAR(normal.Normal(), value, 4 * 0x1p-52 * std::abs(value));
    }
  }
}

const Json& ModuleNamed(const std::string& name) {
  for (const Json& json : Section("module")) {
    if (json["name"] == name) return json;
  }
  ADD_FAILURE() << "no case " << name;
  return Section("module")[0];
}

// Largest difference between the output for the tokens 2, 0, 1 and the output
// for the tokens 0, 1, 2, permuted alike.
double PermutationDifference(const std::string& scheme) {
  ThreadPool pool(1);
  const std::string name = "equivariance/" + scheme;
  const auto original = NumbersOf(
      RunModule(ModuleNamed(name), DType::kFloat32, pool).output.view());
  const auto permuted = NumbersOf(
      RunModule(ModuleNamed(name + "/permuted"), DType::kFloat32, pool)
          .output.view());
  const int order[] = {2, 0, 1};
  const int width = 8;
  double max = 0;
  for (int t = 0; t < 3; ++t) {
    for (int c = 0; c < width; ++c) {
      max = std::max(max, std::abs(permuted[t * width + c] -
                                   original[order[t] * width + c]));
    }
  }
  return max;
}

TEST(GoldenEquivarianceTest, HoldsWithoutPositions) {
  EXPECT_LT(PermutationDifference("none"), 1e-6);
}

TEST(GoldenEquivarianceTest, BreaksWithPositions) {
  EXPECT_GT(PermutationDifference("sinusoidal"), 1e-3);
}

}  // namespace
}  // namespace locus::golden
