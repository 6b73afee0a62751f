// Core against numbers from an independent script in another language.
//
// How far they may differ follows from the types:
//
//   rounding   a value written in a type of p significant bits errs by half a
//              unit, |x| 2^-p; a whole one is granted. FLOAT16 adds the
//              spacing of its subnormals, 2^-24.
//   angles     p w in double errs by p 2^-52 (the power that makes w may be off
//              by a unit, and the product rounds): p 2^-51 is granted, which
//              is 1e-6 at position 2^31 and below the 2e-6 promised of FLOAT32
//              tables at any position.
//   powers     base^-e: e rounds, and its error is multiplied by e ln(base), up
//              to 14 for a base of a million: 16 units are granted.
//   double     sums of a few dozen products: 1e-12 of the largest value.
//   float      the kernel in single precision: 2e-5 of the largest value.
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "core/base/random.h"
#include "core/encoding/rope_scaling/scaling.h"
#include "core/encoding/registry.h"
#include "gtest/gtest.h"
#include "tests/golden/golden_cases.h"

namespace locus::golden {
namespace {

constexpr double kDouble = 1e-12;
constexpr double kFloat = 2e-5;
constexpr double kFloatTable = 2e-6;
constexpr double kLargestHalf = 65504;

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

double LargestOf(const std::vector<double>& values) {
  double largest = 0;
  for (const double value : values) {
    if (std::isfinite(value)) largest = std::max(largest, std::abs(value));
  }
  return largest;
}

// `tolerance` is absolute; what the type rounds off is granted on top. With
// `factors`, each number has its own times the tolerance.
void ExpectNear(const TensorView& got, const Json& want, double tolerance,
                const std::string& what,
                const std::vector<double>& factors = {}) {
  ASSERT_EQ(got.shape, ShapeOf(want)) << what;
  const std::vector<double> values = NumbersOf(got);
  const std::vector<double> wanted = NumbersOf(want);
  const double subnormals = got.dtype == DType::kFloat16 ? 0x1p-24 : 0;
  for (size_t i = 0; i < values.size(); ++i) {
    const bool overflows =
        got.dtype == DType::kFloat16 && std::abs(wanted[i]) > kLargestHalf;
    if (!std::isfinite(wanted[i]) || overflows) {
      ASSERT_EQ(values[i], std::copysign(HUGE_VAL, wanted[i]))
          << what << ", element " << i;
      continue;
    }
    ASSERT_NEAR(values[i], wanted[i],
                subnormals + tolerance * (factors.empty() ? 1 : factors[i]) +
                    UnitOf(got.dtype) * std::abs(wanted[i]))
        << what << ", element " << i;
  }
}

void ExpectNear(const std::vector<double>& got, const Json& want,
                const std::string& what) {
  ASSERT_EQ(got.size(), want.size()) << what;
  for (size_t i = 0; i < got.size(); ++i) {
    ASSERT_NEAR(got[i], NumberOf(want[i]), 16 * 0x1p-52 * std::abs(got[i]))
        << what;
  }
}

double TableTolerance(DType dtype, int64_t max_position) {
  if (dtype != DType::kFloat64) return kFloatTable;
  return kDouble + static_cast<double>(max_position) * 0x1p-51;
}

// Of an attention output: `relative` of the largest value that is wanted, and
// what far angles may do to a score, with room for a dozen channels of size 4.
double AttentionTolerance(double relative, int64_t max_position,
                          const Json& want) {
  const double angle = static_cast<double>(max_position) * 0x1p-48;
  return (relative + angle) * std::max(1.0, LargestOf(NumbersOf(want)));
}

class GoldenTest : public testing::TestWithParam<DType> {
 protected:
  ThreadPool pool_{2};
};

// Of each pair of numbers, as a vector.
std::vector<double> Lengths(const std::vector<double>& x,
                            const std::vector<double>& y) {
  std::vector<double> lengths(x.size());
  for (size_t i = 0; i < x.size(); ++i) lengths[i] = std::hypot(x[i], y[i]);
  return lengths;
}

void CheckEncoding(const Encoding& got, const Json& want, double tolerance) {
  if (const auto* additive = std::get_if<AdditiveEncoding>(&got.numbers)) {
    ExpectNear(additive->table.view(), want["table"], tolerance, "table");
  } else if (const auto* turn = std::get_if<RotationEncoding>(&got.numbers)) {
    // Where a decay or a factor multiplies them, it does so with their errors.
    const std::vector<double> factors =
        Lengths(NumbersOf(want["cos"]), NumbersOf(want["sin"]));
    ExpectNear(turn->cos.view(), want["cos"], tolerance, "cos", factors);
    ExpectNear(turn->sin.view(), want["sin"], tolerance, "sin", factors);
    // Of what is turned, the largest stands for all.
    tolerance *= std::max(1.0, LargestOf(factors));
    ExpectNear(turn->frequencies, want["frequencies"], "frequencies");
    const double factor = want.value("attention_factor", 1.0);
    EXPECT_NEAR(turn->attention_factor, factor, 4 * 0x1p-52 * factor);
  } else if (const auto* bias = std::get_if<BiasEncoding>(&got.numbers)) {
    ExpectNear(bias->bias.view(), want["bias"], tolerance, "bias");
    ExpectNear(bias->slopes, want.value("slopes", Json::array()), "slopes");
  } else {
    EXPECT_FALSE(want.contains("table") || want.contains("cos") ||
                 want.contains("bias"));
  }
  ASSERT_EQ(got.output.has_value(), want.contains("output"));
  // A turned channel is the sum of two, each below 4.
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

// The twin works in double whatever the type: only the last rounding shows.
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
    // Words have no type of their own, and are answered in single precision.
    const bool is_double = got.output.dtype() == DType::kFloat64;
    EXPECT_TRUE(json.contains("tokens") ||
                is_double == (GetParam() == DType::kFloat64));
    CheckAttention(got, json["expect"], is_double ? kDouble : kFloat, 0);
  }
}

INSTANTIATE_TEST_SUITE_P(DTypes, GoldenTest,
                         testing::Values(DType::kFloat64, DType::kFloat32,
                                         DType::kFloat16, DType::kBFloat16),
                         [](const auto& info) {
                           return std::string(NameOf(info.param));
                         });

// Whether some encoding is of this scheme, and satisfies the condition.
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
        // The default may be left out, and what is refused has no numbers.
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

TEST(GoldenCoverageTest, EveryScalingHasAGoldenInBothArithmetics) {
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

TEST(GoldenRandomTest, StreamsAreTheDocumentedOnes) {
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
    // The logarithms differ: a few units of the last place.
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

// The course's case: how far the output for tokens in the order 2, 0, 1 is from
// the output for 0, 1, 2 in that order.
double PermutationDifference(const std::string& scheme) {
  ThreadPool pool(1);
  const std::string name = "equivariance/" + scheme;
  const auto plain = NumbersOf(
      RunModule(ModuleNamed(name), DType::kFloat32, pool).output.view());
  const auto moved = NumbersOf(
      RunModule(ModuleNamed(name + "/permuted"), DType::kFloat32, pool)
          .output.view());
  const int order[] = {2, 0, 1};
  const int width = 8;
  double largest = 0;
  for (int t = 0; t < 3; ++t) {
    for (int c = 0; c < width; ++c) {
      largest = std::max(largest, std::abs(moved[t * width + c] -
                                           plain[order[t] * width + c]));
    }
  }
  return largest;
}

TEST(GoldenEquivarianceTest, HoldsWithoutPositions) {
  EXPECT_LT(PermutationDifference("none"), 1e-6);
}

TEST(GoldenEquivarianceTest, BreaksWithPositions) {
  EXPECT_GT(PermutationDifference("sinusoidal"), 1e-3);
}

}  // namespace
}  // namespace locus::golden
