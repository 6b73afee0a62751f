// Tests that CheckProperties() detects false promises.

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

// Checks one property of the formula of one scheme under the promises of
// another.
PropertyResult CheckWithPromisesOf(absl::string_view formula,
                                   absl::string_view promises,
                                   absl::string_view property) {
  SchemeInfo info = *FindScheme(formula);
  info.name = "false_promises";
  info.promises = FindScheme(promises)->promises;
  const auto scheme = MakeScheme(info, {});
  return Find(*CheckProperties(**scheme, info.promises, CancellationCheck()),
              property);
}

TEST(FalsePromiseTest, TableWithLinearShiftIsDetected) {
  const auto result =
      CheckWithPromisesOf("learned", "sinusoidal", "linear_shift");
  EXPECT_EQ(result.promise, Promise::Answer::kYes);
  EXPECT_FALSE(result.as_promised);
}

TEST(FalsePromiseTest, BucketsWithDecayAreDetected) {
  EXPECT_FALSE(
      CheckWithPromisesOf("t5_bias", "alibi", "monotonic_decay").as_promised);
  EXPECT_FALSE(
      CheckWithPromisesOf("t5_bias", "alibi", "uniqueness").as_promised);
}

TEST(FalsePromiseTest, BoundedLinearBiasIsDetected) {
  EXPECT_FALSE(
      CheckWithPromisesOf("alibi", "t5_bias", "boundedness").as_promised);
}

TEST(FalsePromiseTest, CodeWithoutPositionsIsDetected) {
  EXPECT_FALSE(
      CheckWithPromisesOf("sinusoidal", "none", "permutation_equivariance")
          .as_promised);
  EXPECT_FALSE(CheckWithPromisesOf("sinusoidal", "none", "shift_invariance")
                   .as_promised);
}

TEST(FalsePromiseTest, UndeclaredRotationIsDetected) {
  const auto result = CheckWithPromisesOf("rope", "none", "norm_preservation");
  EXPECT_EQ(result.verdict, Verdict::kHolds);
  EXPECT_FALSE(result.as_promised);
}

// Checks a formula under the promises of a registered scheme.
template <typename Formula>
std::vector<PropertyResult> CheckFormula(absl::string_view promises) {
  SchemeInfo info = *FindScheme(promises);
  info.make =
      [](const Arguments&) -> absl::StatusOr<std::unique_ptr<SchemeFormula>> {
    return std::make_unique<Formula>();
  };
  return *CheckProperties(**MakeScheme(info, {}), info.promises,
                          CancellationCheck());
}

// A rotation with an attention factor, which scales cosines and sines.
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

TEST(FalsePromiseTest, AttentionFactorBreaksNormPreservationOnly) {
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

// Reports the slopes of the ALiBi paper, but computes biases with others.
class WrongSlopesBias final : public ScoreBias {
 public:
  double At(int64_t head, int64_t query, int64_t key) const override {
    return -std::exp2(-2.0 * static_cast<double>(head)) *
           static_cast<double>(query - key);
  }
  bool is_bounded() const override { return false; }
  bool is_causal() const override { return true; }
  std::vector<double> slopes() const override {
    std::vector<double> reported;
    for (int h = 1; h <= 8; ++h) reported.push_back(std::exp2(-h));
    return reported;
  }
};

TEST(FalsePromiseTest, WrongSlopesAreDetected) {
  const auto results = CheckFormula<BiasFormula<WrongSlopesBias>>("alibi");
  EXPECT_FALSE(Find(results, "slopes_geometric").as_promised);
}

// A bias that is NaN at one distance.
class NanBias final : public ScoreBias {
 public:
  double At(int64_t, int64_t query, int64_t key) const override {
    return query - key == 10 ? std::nan("") : -static_cast<double>(query - key);
  }
  bool is_bounded() const override { return false; }
  bool is_causal() const override { return true; }
};

TEST(FalsePromiseTest, NanFailsAndIsReportedAsFinite) {
  const auto results = CheckFormula<BiasFormula<NanBias>>("alibi");
  EXPECT_FALSE(Find(results, "monotonic_decay").as_promised);
  EXPECT_FALSE(Find(results, "uniqueness").as_promised);
  for (const PropertyResult& result : results) {
    EXPECT_TRUE(std::isfinite(result.measured)) << result.property;
  }
}

// A bias that depends on the absolute position of the query.
class AbsoluteBias final : public ScoreBias {
 public:
  double At(int64_t, int64_t query, int64_t key) const override {
    return -static_cast<double>(query - key) / static_cast<double>(query + 1);
  }
  bool is_bounded() const override { return true; }
  bool is_causal() const override { return true; }
};

TEST(FalsePromiseTest, AbsoluteBiasIsNotShiftInvariant) {
  const auto results = CheckFormula<BiasFormula<AbsoluteBias>>("alibi");
  EXPECT_FALSE(Find(results, "shift_invariance").as_promised);
}

// A bias that is NaN around position 20 and depends on the offset elsewhere.
class NanRegionBias final : public ScoreBias {
 public:
  double At(int64_t, int64_t query, int64_t key) const override {
    return query >= 17 && query < 30 ? std::nan("")
                                     : -static_cast<double>(query - key);
  }
  bool depends_on_offset_alone() const override { return false; }
  bool is_bounded() const override { return false; }
  bool is_causal() const override { return true; }
};

TEST(FalsePromiseTest, NanOfOneShiftIsNotHiddenByLaterShifts) {
  const auto result = Find(CheckFormula<BiasFormula<NanRegionBias>>("alibi"),
                           "shift_invariance");
  EXPECT_EQ(result.verdict, Verdict::kFails);
  EXPECT_FALSE(result.as_promised);
}

// A causal bias whose values for keys after the query are meaningless, which is
// allowed.
class OneSidedBias final : public ScoreBias {
 public:
  double At(int64_t, int64_t query, int64_t key) const override {
    return query < key ? 5 * std::sin(static_cast<double>(query))
                       : -static_cast<double>(query - key);
  }
  bool depends_on_offset_alone() const override { return false; }
  bool is_bounded() const override { return false; }
  bool is_causal() const override { return true; }
};

TEST(FalsePromiseTest, CausalBiasIsNotCheckedForLaterKeys) {
  for (const PropertyResult& result :
       CheckFormula<BiasFormula<OneSidedBias>>("alibi")) {
    EXPECT_TRUE(result.as_promised) << result.worked_case;
  }
}

TEST(FalsePromiseTest, SmoothTableIsDetected) {
  const auto result =
      CheckWithPromisesOf("learned", "sinusoidal", "smoothness");
  EXPECT_EQ(result.promise, Promise::Answer::kYes);
  EXPECT_FALSE(result.as_promised);
}

TEST(FalsePromiseTest, OpenEndedBucketsAreDetected) {
  EXPECT_FALSE(
      CheckWithPromisesOf("t5_bias", "alibi", "open_endedness").as_promised);
  EXPECT_FALSE(CheckWithPromisesOf("learned", "sinusoidal", "open_endedness")
                   .as_promised);
}

TEST(FalsePromiseTest, UndeclaredRulesAreDetected) {
  for (const char* const property :
       {"smoothness", "length_independence", "open_endedness", "determinism"}) {
    EXPECT_FALSE(CheckWithPromisesOf("rope", "none", property).as_promised)
        << property;
  }
}

template <typename Code>
class CodeFormula final : public SchemeFormula {
 public:
  absl::StatusOr<CompiledScheme> Compile(
      const Geometry& geometry) const override {
    return std::make_unique<Code>(geometry.max_position + 1);
  }
};

// A code that is divided by the length of the sequence past 256 positions.
class StretchedCode final : public AdditiveCode {
 public:
  explicit StretchedCode(int64_t length) : length_(length) {}
  void Row(int64_t position, absl::Span<double> row) const override {
    const double stretch =
        length_ > 256 ? static_cast<double>(length_) / 256 : 1;
    for (double& value : row) {
      value = std::sin(static_cast<double>(position) / stretch);
    }
  }

 private:
  const int64_t length_;
};

TEST(FalsePromiseTest, StretchedCodesAreNotLengthIndependent) {
  const auto result =
      Find(CheckFormula<CodeFormula<StretchedCode>>("sinusoidal"),
           "length_independence");
  EXPECT_EQ(result.promise, Promise::Answer::kYes);
  EXPECT_EQ(result.verdict, Verdict::kFails);
  EXPECT_FALSE(result.as_promised);
}

// A code that changes by one unit in the last place with every row computed.
class DriftingCode final : public AdditiveCode {
 public:
  explicit DriftingCode(int64_t) {}
  void Row(int64_t position, absl::Span<double> row) const override {
    drift_ += 0x1p-52;
    for (double& value : row) {
      value = 1.5 + 0.25 * std::sin(static_cast<double>(position)) + drift_;
    }
  }

 private:
  mutable double drift_ = 0;
};

TEST(FalsePromiseTest, CodeThatDependsOnEarlierCallsIsNotDeterministic) {
  const auto result = Find(
      CheckFormula<CodeFormula<DriftingCode>>("sinusoidal"), "determinism");
  EXPECT_EQ(result.promise, Promise::Answer::kYes);
  EXPECT_GT(result.measured, 0);
  EXPECT_FALSE(result.as_promised);
}

// A bias that is NaN from distance 1000 on has no last distance of its own.
class FarNanBias final : public ScoreBias {
 public:
  double At(int64_t, int64_t query, int64_t key) const override {
    return query - key >= 1000 ? std::nan("")
                               : -static_cast<double>(query - key);
  }
  bool is_bounded() const override { return false; }
  bool is_causal() const override { return true; }
};

TEST(FalsePromiseTest, NanIsNoBiasOfItsOwn) {
  EXPECT_FALSE(
      Find(CheckFormula<BiasFormula<FarNanBias>>("alibi"), "open_endedness")
          .as_promised);
}

// A tiny bias that is NaN for the third token must be measured, not skipped as
// too small.
class TinyNanBias final : public ScoreBias {
 public:
  double At(int64_t, int64_t query, int64_t key) const override {
    return query - key == 2 ? std::nan("") : -1e-6 * (query - key);
  }
  bool is_bounded() const override { return false; }
  bool is_causal() const override { return true; }
};

TEST(FalsePromiseTest, NanIsNotSkippedAsTooSmallABias) {
  const auto result = Find(CheckFormula<BiasFormula<TinyNanBias>>("alibi"),
                           "permutation_equivariance");
  EXPECT_EQ(result.verdict, Verdict::kFails);
}

}  // namespace
}  // namespace locus
