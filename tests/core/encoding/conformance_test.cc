// Requirements that every scheme must meet. The tests run for all registered
// schemes and RoPE scalings, so that a new scheme is covered as soon as it is
// registered.
#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "core/attention/module.h"
#include "core/base/status.h"
#include "tests/support/core_testing.h"

namespace locus {
namespace {

using testing::Difference;
using testing::MustMake;
using testing::RandomTensor;
using testing::Values;

constexpr int64_t kTrained = 64;
constexpr int64_t kWidth = 16;
constexpr int64_t kHeads = 2;

// A scheme with one of its parameter groups set, or with none.
struct SchemeCase {
  const SchemeInfo* info;
  std::string group;
};

class ConformanceTest : public ::testing::TestWithParam<SchemeCase> {
 protected:
  static const SchemeInfo& Info() { return *GetParam().info; }

  // Arguments that set the group of this case.
  static Arguments GroupArguments() {
    Arguments arguments;
    if (!GetParam().group.empty()) arguments.Set(GetParam().group, true);
    return arguments;
  }

  // The scheme with its defaults, except that tables have a code past their
  // end, that the centre does not depend on the call and that the threshold is
  // small enough to be exceeded.
  std::unique_ptr<Scheme> Make() const {
    Arguments arguments = GroupArguments();
    for (const Parameter& parameter : Info().parameters) {
      if (parameter.name == "policy") {
        arguments.Set("policy", std::string("CLAMP"));
      }
      if (parameter.name == "centre") arguments.Set("centre", int64_t{0});
      if (parameter.name == "threshold") arguments.Set("threshold", 8.0);
    }
    return MustMake(Info().name, arguments);
  }

  // Output and weights of a causal layer over x at the given positions.
  AttentionOutputs Layer(const TensorView& x,
                         const Positions& positions) const {
    ModuleInputs inputs;
    inputs.x = x;
    inputs.seed = 11;
    inputs.head_count = kHeads;
    AttentionOptions options;
    options.causal = true;
    options.query_positions = positions;
    options.key_positions = positions;
    options.return_weights = true;
    const auto scheme = Make();
    const auto job = ModuleJob::Create(*scheme, inputs, options);
    EXPECT_TRUE(job.ok()) << job.status();
    ThreadPool pool(2);
    auto out = job->Run(pool, nullptr);
    EXPECT_TRUE(out.ok()) << out.status();
    return *std::move(out);
  }

  bool DeclaredTrue(Property property) const {
    return Info().promises[static_cast<int>(property)].answer ==
           Promise::Answer::kYes;
  }
  bool DeclaredFalse(Property property) const {
    return Info().promises[static_cast<int>(property)].answer ==
           Promise::Answer::kNo;
  }

  Encoding Encode(const Positions& positions) const {
    EncodeOptions options;
    options.positions = positions;
    options.dim = kWidth;
    options.head_count = kHeads;
    options.dtype = DType::kFloat64;
    const auto job = EncodeJob::Create(*Make(), options);
    EXPECT_TRUE(job.ok()) << job.status();
    ThreadPool pool(2);
    return *job->Run(pool, nullptr);
  }

  static std::vector<double> Numbers(const Encoding& encoding) {
    if (const auto* code = std::get_if<AdditiveEncoding>(&encoding.numbers)) {
      return Values(code->table);
    }
    if (const auto* rotation =
            std::get_if<RotationEncoding>(&encoding.numbers)) {
      std::vector<double> numbers = Values(rotation->cos);
      const std::vector<double> sin = Values(rotation->sin);
      numbers.insert(numbers.end(), sin.begin(), sin.end());
      return numbers;
    }
    if (const auto* bias = std::get_if<BiasEncoding>(&encoding.numbers)) {
      return Values(bias->bias);
    }
    return {};
  }
};

std::vector<SchemeCase> AllCases() {
  std::vector<SchemeCase> cases;
  for (const SchemeInfo& info : AllSchemes()) {
    cases.push_back({&info, ""});
    for (const Parameter& parameter : info.parameters) {
      if (parameter.kind == ParameterKind::kGroup) {
        cases.push_back({&info, parameter.name});
      }
    }
  }
  return cases;
}

TEST_P(ConformanceTest, DescriptionIsComplete) {
  const SchemeInfo& info = Info();
  EXPECT_FALSE(info.title.empty());
  EXPECT_FALSE(info.reference.empty());
  EXPECT_FALSE(info.beyond_training.empty());
  std::set<std::string> names;
  for (const Parameter& parameter : info.parameters) {
    EXPECT_TRUE(names.insert(std::string(parameter.name)).second);
    EXPECT_FALSE(parameter.description.empty()) << parameter.name;
    EXPECT_FALSE(parameter.Range().empty()) << parameter.name;
  }
}

TEST_P(ConformanceTest, FiniteAtEightTimesTheTrainingLength) {
  const Tensor x =
      RandomTensor(DType::kFloat32, {1, 8 * kTrained, kWidth}, 1, "x");
  const auto out = Layer(x.view(), *Positions::Range(0, 8 * kTrained));
  for (const double value : Values(out.output)) {
    ASSERT_TRUE(std::isfinite(value));
  }
}

TEST_P(ConformanceTest, FiniteAtTheLargestPositions) {
  const Tensor x = RandomTensor(DType::kFloat32, {1, 3, kWidth}, 1, "x");
  const int64_t last = std::numeric_limits<int64_t>::max();
  const auto compiled =
      Make()->Compile({.dim = kWidth, .head_count = 2, .max_position = last});
  if (!compiled.ok()) {
    // The error must name a parameter of the scheme.
    EXPECT_EQ(FieldOf(compiled.status()).rfind("scheme.", 0), 0);
    GTEST_SKIP() << "rejects the largest position with these parameters: "
                 << compiled.status();
  }
  const auto out = Layer(x.view(), *Positions::Ids({1000000, 0, last - 1}));
  for (const double value : Values(out.output)) {
    ASSERT_TRUE(std::isfinite(value));
  }
}

TEST_P(ConformanceTest, EncodingOfAPositionDoesNotDependOnTheOthers) {
  // A position has the same numbers in one call as in two calls.
  const auto at = [&](int64_t start, int64_t count) {
    return Numbers(Encode(*Positions::Range(start, count)));
  };
  if (Info().site == Site::kScores) {
    // Compares the bias of one pair, computed alone, with the corner of a
    // larger table.
    const auto all = Numbers(Encode(*Positions::Range(0, 8)));
    const auto one = Numbers(Encode(*Positions::Range(7, 1)));
    for (int64_t h = 0; h < kHeads; ++h) {
      EXPECT_EQ(one[h], all[h * 64 + 63]);
    }
    return;
  }
  const auto all = at(0, 8);
  auto first = at(0, 5);
  const auto rest = at(5, 3);
  if (all.empty()) GTEST_SKIP() << "the scheme has no numbers";
  if (Info().site == Site::kQueriesAndKeys) {
    // The cosines of all positions precede their sines.
    std::vector<double> joined;
    for (const int half : {0, 1}) {
      for (const auto& part : {first, rest}) {
        const auto size = static_cast<std::ptrdiff_t>(part.size() / 2);
        joined.insert(joined.end(), part.begin() + half * size,
                      part.begin() + (half + 1) * size);
      }
    }
    EXPECT_EQ(joined, all);
    return;
  }
  first.insert(first.end(), rest.begin(), rest.end());
  EXPECT_EQ(first, all);
}

TEST_P(ConformanceTest, TokenByTokenMatchesTheFullPass) {
  // With a causal mask, the output at t depends only on the tokens up to t.
  const int64_t length = 20;
  const Tensor x = RandomTensor(DType::kFloat64, {1, length, kWidth}, 2, "x");
  const auto full =
      Values(Layer(x.view(), *Positions::Range(0, length)).output);
  for (const int64_t t : {1, 7, 19}) {
    const TensorView prefix{DType::kFloat64, {1, t + 1, kWidth}, x.view().data};
    const auto part = Values(Layer(prefix, *Positions::Range(0, t + 1)).output);
    for (int64_t c = 0; c < kWidth; ++c) {
      EXPECT_NEAR(part[t * kWidth + c], full[t * kWidth + c], 1e-12);
    }
  }
}

TEST_P(ConformanceTest, ShiftInvarianceIsAsDeclared) {
  const Tensor x = RandomTensor(DType::kFloat64, {1, 24, kWidth}, 3, "x");
  const auto here = Layer(x.view(), *Positions::Range(0, 24));
  const auto there = Layer(x.view(), *Positions::Range(17, 24));
  const double difference =
      Difference(Values(*there.weights), Values(*here.weights));
  if (DeclaredTrue(Property::kShiftInvariance)) {
    EXPECT_LT(difference, 1e-10);
  }
  if (DeclaredFalse(Property::kShiftInvariance)) {
    EXPECT_GT(difference, 1e-4);
  }
}

// Output of an unmasked layer over x at the given positions.
std::vector<double> Unmasked(const Scheme& scheme, const TensorView& x,
                             const Positions& positions) {
  ModuleInputs inputs;
  inputs.x = x;
  inputs.seed = 12;
  inputs.head_count = kHeads;
  AttentionOptions options;
  options.query_positions = positions;
  options.key_positions = positions;
  const auto job = ModuleJob::Create(scheme, inputs, options);
  EXPECT_TRUE(job.ok()) << job.status();
  ThreadPool pool(1);
  return Values(job->Run(pool, nullptr)->output);
}

TEST_P(ConformanceTest, EquivarianceIsAsDeclared) {
  if (Info().is_causal_only) {
    GTEST_SKIP() << "a causal mask breaks equivariance; core/properties checks "
                    "causal schemes separately";
  }
  Arguments arguments = GroupArguments();
  for (const Parameter& parameter : Info().parameters) {
    if (parameter.name == "symmetric" || parameter.name == "bidirectional") {
      arguments.Set(parameter.name, true);
    }
  }
  const auto scheme = MustMake(Info().name, arguments);
  const std::vector<int64_t> permutation = {2, 0, 4, 1, 3};
  const Tensor x = RandomTensor(DType::kFloat64, {1, 5, kWidth}, 4, "x");
  Tensor permuted(DType::kFloat64, {1, 5, kWidth});
  for (int64_t t = 0; t < 5; ++t) {
    std::copy_n(x.view().at(permutation[t] * kWidth), kWidth * 8,
                permuted.at(t * kWidth));
  }
  const auto plain = Unmasked(*scheme, x.view(), *Positions::Range(0, 5));
  std::vector<double> expected;
  for (const int64_t from : permutation) {
    expected.insert(expected.end(), plain.begin() + from * kWidth,
                    plain.begin() + (from + 1) * kWidth);
  }
  const double fixed_positions = Difference(
      Unmasked(*scheme, permuted.view(), *Positions::Range(0, 5)), expected);
  const double permuted_positions = Difference(
      Unmasked(*scheme, permuted.view(), *Positions::Ids(permutation)),
      expected);
  if (DeclaredTrue(Property::kPermutationEquivariance)) {
    EXPECT_LT(fixed_positions, 1e-12);
  }
  if (DeclaredFalse(Property::kPermutationEquivariance)) {
    EXPECT_GT(fixed_positions, 1e-3);
  }
  EXPECT_TRUE(DeclaredTrue(Property::kJointEquivariance));
  EXPECT_LT(permuted_positions, 1e-12);
}

TEST_P(ConformanceTest, RejectsNumbersOutOfRange) {
  for (const Parameter& parameter : Info().parameters) {
    const bool integer = parameter.kind == ParameterKind::kInteger;
    if (!integer && parameter.kind != ParameterKind::kNumber) continue;
    for (const double bad : {parameter.min - 1, parameter.max * 2 + 1}) {
      if (!std::isfinite(bad)) continue;
      Arguments arguments;
      if (integer) {
        arguments.Set(parameter.name, static_cast<int64_t>(bad));
      } else {
        arguments.Set(parameter.name, bad);
      }
      const auto scheme = MakeScheme(Info(), arguments);
      EXPECT_EQ(FieldOf(scheme.status()),
                absl::StrCat(Info().name, ".", parameter.name))
          << bad;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Schemes, ConformanceTest,
                         ::testing::ValuesIn(AllCases()), [](const auto& test) {
                           const SchemeCase& scheme = test.param;
                           return absl::StrCat(scheme.info->name,
                                               scheme.group.empty() ? "" : "_",
                                               scheme.group);
                         });

}  // namespace
}  // namespace locus
