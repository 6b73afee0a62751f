#include "client/cli/render/angle_verdict.h"

#include <cmath>
#include <numbers>
#include <vector>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace locus::client {
namespace {

using testing::DoubleNear;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr double kCircle = 2 * std::numbers::pi;

// Pairs with the given unscaled wavelengths, stretched by the given factors.
RotationFacts Stretched(const std::vector<double>& wavelengths,
                        const std::vector<double>& stretch, double trained,
                        double target) {
  RotationFacts facts;
  facts.trained_length = trained;
  facts.target_length = target;
  for (size_t k = 0; k < wavelengths.size(); ++k) {
    facts.unscaled.push_back(kCircle / wavelengths[k]);
    facts.frequencies.push_back(facts.unscaled[k] / stretch[k]);
    facts.ramp.push_back(0);
    facts.trained_turns.push_back(trained / wavelengths[k]);
    facts.target_turns.push_back(target / wavelengths[k] / stretch[k]);
  }
  return facts;
}

TEST(AngleVerdictTest, AFullTurnInTrainingCoversEveryAngle) {
  const AngleVerdict verdict =
      JudgeAngles(Stretched({10, 100}, {1, 1}, 100, 1e6));
  EXPECT_THAT(verdict.full_turn, ElementsAre(0, 1));
  EXPECT_TRUE(verdict.is_safe);
  EXPECT_EQ(verdict.safe_length, kAnyLength);
}

TEST(AngleVerdictTest, SlowPairsAreSafeUpToTheLengthTimesTheirStretch) {
  const AngleVerdict verdict =
      JudgeAngles(Stretched({10, 200, 400}, {1, 4, 4}, 100, 400));
  EXPECT_THAT(verdict.full_turn, ElementsAre(0));
  EXPECT_THAT(verdict.within, ElementsAre(1, 2));
  EXPECT_THAT(verdict.beyond, IsEmpty());
  EXPECT_TRUE(verdict.is_safe);
  EXPECT_EQ(verdict.safe_length, 400);
  EXPECT_FALSE(
      JudgeAngles(Stretched({10, 200, 400}, {1, 4, 4}, 100, 401)).is_safe);
}

// Llama 3.1: the target is 16 times the trained length, the factor 8.
TEST(AngleVerdictTest, ATargetBeyondTheFactorReachesTwiceTheAngle) {
  const AngleVerdict verdict =
      JudgeAngles(Stretched({8000, 9000, 2e6}, {5, 8, 8}, 8192, 131072));
  EXPECT_FALSE(verdict.is_safe);
  EXPECT_THAT(verdict.beyond, ElementsAre(1, 2));
  EXPECT_THAT(verdict.min_reach, DoubleNear(2, 1e-12));
  EXPECT_THAT(verdict.max_reach, DoubleNear(2, 1e-12));
  EXPECT_EQ(verdict.safe_length, 65536);
  EXPECT_EQ(verdict.pairs[0].safe_length, kAnyLength);
  EXPECT_EQ(verdict.pairs[2].safe_length, 65536);
}

TEST(AngleVerdictTest, TheLeastStretchedSlowPairLimitsTheLength) {
  const AngleVerdict verdict =
      JudgeAngles(Stretched({10, 200, 400}, {1, 2.5, 4}, 100, 400));
  EXPECT_THAT(verdict.beyond, ElementsAre(1));
  EXPECT_THAT(verdict.within, ElementsAre(2));
  EXPECT_EQ(verdict.safe_length, 250);
  EXPECT_THAT(verdict.max_reach, DoubleNear(1.6, 1e-12));
}

TEST(AngleVerdictTest, PairsThatDoNotRotateAreSafe) {
  RotationFacts facts = Stretched({10, 400}, {1, 1}, 100, 1000);
  facts.frequencies[1] = 0;
  facts.target_turns[1] = 0;
  const AngleVerdict verdict = JudgeAngles(facts);
  EXPECT_THAT(verdict.fixed, ElementsAre(1));
  EXPECT_TRUE(verdict.is_safe);
}

TEST(AngleVerdictTest, RoundingToSinglePrecisionDoesNotMakeALengthUnsafe) {
  const double stretch = static_cast<double>(std::nextafter(4.0F, 0.0F));
  const AngleVerdict verdict =
      JudgeAngles(Stretched({200}, {stretch}, 100, 400));
  EXPECT_TRUE(verdict.is_safe);
  EXPECT_EQ(verdict.safe_length, 400);
}

TEST(AngleVerdictTest, CodesPastTheTrainedLengthOfATableAreNew) {
  RotationFacts facts = Stretched({10}, {1}, 100, 101);
  facts.rotates = false;
  EXPECT_FALSE(JudgeAngles(facts).is_safe);
  EXPECT_EQ(JudgeAngles(facts).safe_length, 100);
  facts.target_length = 100;
  EXPECT_TRUE(JudgeAngles(facts).is_safe);
}

TEST(AngleVerdictTest, WithoutATrainedLengthThereIsNoVerdict) {
  RotationFacts facts;
  facts.frequencies = facts.unscaled = {1};
  EXPECT_FALSE(JudgeAngles(facts).is_known());
}

TEST(SearchSafeLengthTest, FindsTheExactLimitWithFewCalls) {
  for (const double limit : {1.0, 2.0, 99.0, 100.0, 101.0, 34175.0, 1e12}) {
    int calls = 0;
    const auto found =
        SearchSafeLength(100, [&](double length) -> absl::StatusOr<bool> {
          ++calls;
          return length <= limit;
        });
    EXPECT_EQ(*found, limit);
    EXPECT_LE(calls, 3 + 2 * std::log2(std::max(limit, 128.0)));
  }
}

TEST(SearchSafeLengthTest, ReportsLengthsWithoutALimit) {
  EXPECT_EQ(*SearchSafeLength(
                100, [](double) -> absl::StatusOr<bool> { return true; }),
            kAnyLength);
}

TEST(SearchSafeLengthTest, ReturnsTheErrorOfTheProbe) {
  const auto failed =
      SearchSafeLength(100, [](double length) -> absl::StatusOr<bool> {
        if (length < 1000) return absl::UnavailableError("gone");
        return false;
      });
  EXPECT_EQ(failed.status().message(), "gone");
}

}  // namespace
}  // namespace locus::client
