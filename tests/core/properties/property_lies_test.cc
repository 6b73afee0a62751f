// Schemes whose promises are lies are found out.

#include <cmath>
#include <cstdint>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "core/properties/properties.h"
#include "tests/core/properties/property_testing.h"

namespace locus {
namespace {

using testing::Find;

// The formula of one scheme under the promises of another.
PropertyResult Lie(absl::string_view formula, absl::string_view promises,
                   absl::string_view property) {
  SchemeInfo info = *FindScheme(formula);
  info.name = "liar";
  info.promises = FindScheme(promises)->promises;
  const auto scheme = MakeScheme(info, {});
  return Find(*CheckProperties(**scheme, info.promises, StopCheck()), property);
}

TEST(LiarTest, TableThatPromisesALinearShiftIsFoundOut) {
  const auto result = Lie("learned", "sinusoidal", "linear_shift");
  EXPECT_EQ(result.promise, Promise::Answer::kYes);
  EXPECT_FALSE(result.as_promised);
}

TEST(LiarTest, BucketsThatPromiseDecayAreFoundOut) {
  EXPECT_FALSE(Lie("t5_bias", "alibi", "monotonic_decay").as_promised);
  EXPECT_FALSE(Lie("t5_bias", "alibi", "uniqueness").as_promised);
}

TEST(LiarTest, PenaltyThatPromisesBoundsIsFoundOut) {
  EXPECT_FALSE(Lie("alibi", "t5_bias", "boundedness").as_promised);
}

TEST(LiarTest, CodeThatPromisesToBeNoneIsFoundOut) {
  EXPECT_FALSE(
      Lie("sinusoidal", "none", "permutation_equivariance").as_promised);
  EXPECT_FALSE(Lie("sinusoidal", "none", "shift_invariance").as_promised);
}

TEST(LiarTest, TurningWithoutSayingSoIsFoundOut) {
  const auto result = Lie("rope", "none", "norm_preservation");
  EXPECT_EQ(result.verdict, Verdict::kHolds);
  EXPECT_FALSE(result.as_promised);
}

// What a formula shows under the promises of a scheme.
template <typename Formula>
std::vector<PropertyResult> CheckFormula(absl::string_view promises) {
  SchemeInfo info = *FindScheme(promises);
  info.make =
      [](const Arguments&) -> absl::StatusOr<std::unique_ptr<SchemeFormula>> {
    return std::make_unique<Formula>();
  };
  return *CheckProperties(**MakeScheme(info, {}), info.promises, StopCheck());
}

// A rotation whose cosines and sines have a factor.
class ScaledRotation final : public SchemeFormula {
 public:
  absl::StatusOr<CompiledScheme> Compile(
      const Geometry& geometry) const override {
    Rotation rotation;
    rotation.frequencies.assign(geometry.dim / 2, 0.5);
    rotation.attention_factor = 1.2;
    return rotation;
  }
};

TEST(LiarTest, FactorBreaksNormsButNotTheRelativeRotation) {
  const auto results = CheckFormula<ScaledRotation>("rope");
  EXPECT_NEAR(Find(results, "norm_preservation").measured, 0.2, 1e-9);
  EXPECT_FALSE(Find(results, "norm_preservation").as_promised);
  EXPECT_TRUE(Find(results, "relative_rotation").as_promised);
}

template <typename Bias>
class BiasFormula final : public SchemeFormula {
 public:
  absl::StatusOr<CompiledScheme> Compile(const Geometry&) const override {
    return std::make_unique<Bias>();
  }
};

// Says the slopes of the paper and adds others.
class CrookedBias final : public ScoreBias {
 public:
  double At(int64_t head, int64_t query, int64_t key) const override {
    return -std::exp2(-2.0 * static_cast<double>(head)) *
           static_cast<double>(query - key);
  }
  bool is_small() const override { return false; }
  bool is_causal() const override { return true; }
  std::vector<double> slopes() const override {
    std::vector<double> said;
    for (int h = 1; h <= 8; ++h) said.push_back(std::exp2(-h));
    return said;
  }
};

TEST(LiarTest, SlopesThatAreNotWhatIsAddedAreFoundOut) {
  const auto results = CheckFormula<BiasFormula<CrookedBias>>("alibi");
  EXPECT_FALSE(Find(results, "slopes_geometric").as_promised);
}

// Is no number at one distance.
class BrokenBias final : public ScoreBias {
 public:
  double At(int64_t, int64_t query, int64_t key) const override {
    return query - key == 10 ? std::nan("") : -static_cast<double>(query - key);
  }
  bool is_small() const override { return false; }
  bool is_causal() const override { return true; }
};

TEST(LiarTest, NaNFailsAndStaysFinite) {
  const auto results = CheckFormula<BiasFormula<BrokenBias>>("alibi");
  EXPECT_FALSE(Find(results, "monotonic_decay").as_promised);
  EXPECT_FALSE(Find(results, "uniqueness").as_promised);
  for (const PropertyResult& result : results) {
    EXPECT_TRUE(std::isfinite(result.measured)) << result.property;
  }
}

// Depends on the query's own position, far out.
class DriftingBias final : public ScoreBias {
 public:
  double At(int64_t, int64_t query, int64_t key) const override {
    return -static_cast<double>(query - key) / static_cast<double>(query + 1);
  }
  bool is_small() const override { return true; }
  bool is_causal() const override { return true; }
};

TEST(LiarTest, BiasOfAbsolutePositionsIsNotShiftInvariant) {
  const auto results = CheckFormula<BiasFormula<DriftingBias>>("alibi");
  EXPECT_FALSE(Find(results, "shift_invariance").as_promised);
}

// Says nothing sensible of keys after the query, as it need not.
class OneSidedBias final : public ScoreBias {
 public:
  double At(int64_t, int64_t query, int64_t key) const override {
    return query < key ? 5 * std::sin(static_cast<double>(query))
                       : -static_cast<double>(query - key);
  }
  bool depends_on_offset_alone() const override { return false; }
  bool is_small() const override { return false; }
  bool is_causal() const override { return true; }
};

TEST(LiarTest, CausalBiasIsNotHeldToLaterKeys) {
  for (const PropertyResult& result :
       CheckFormula<BiasFormula<OneSidedBias>>("alibi")) {
    EXPECT_TRUE(result.as_promised) << result.worked_case;
  }
}

}  // namespace
}  // namespace locus
