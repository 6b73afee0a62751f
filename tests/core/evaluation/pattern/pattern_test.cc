// Tests of the metrics and maps of pattern mode.
#include "core/evaluation/pattern/pattern.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/status.h"
#include "tests/support/core_testing.h"

namespace locus {
namespace {

using ::testing::HasSubstr;
using testing::Values;

constexpr int64_t kTrained = 64;

// A layer of width 32 with two heads.
PatternCase Case(absl::string_view name, int64_t length, bool causal = false) {
  const TrainingSetting setting{.train_length = kTrained, .causal = causal};
  auto scheme = MakeScheme(*FindScheme(name), {}, &setting);
  EXPECT_TRUE(scheme.ok()) << scheme.status();
  PatternCase pattern_case;
  pattern_case.scheme = {std::string(name), *std::move(scheme)};
  pattern_case.settings = {.dim = 32, .head_count = 2, .causal = causal};
  pattern_case.train_length = kTrained;
  pattern_case.eval_length = length;
  pattern_case.seed = 5;
  return pattern_case;
}

EvaluationCell Measure(const PatternCase& pattern_case, int thread_count = 2) {
  ThreadPool pool(thread_count);
  auto cell = MeasurePattern(pattern_case, pool, nullptr);
  EXPECT_TRUE(cell.ok()) << cell.status();
  return *std::move(cell);
}

class PatternTest : public ::testing::TestWithParam<SchemeInfo> {};

TEST_P(PatternTest, MetricsArePresentAndFinite) {
  for (const bool causal : {false, true}) {
    if (GetParam().is_causal_only && !causal) continue;
    const auto cell = Measure(Case(GetParam().name, 96, causal));
    for (const char* const name :
         {"entropy", "window_mass", "mean_distance", "score_drift",
          "entropy_shared", "window_mass_shared", "mean_distance_shared",
          "score_drift_shared", "position_effect"}) {
      EXPECT_TRUE(cell.metrics.count(name)) << name;
    }
    for (const auto& [name, value] : cell.metrics) {
      EXPECT_TRUE(std::isfinite(value)) << name;
      EXPECT_GE(value, 0) << name;
    }
    for (const char* const name :
         {"entropy", "window_mass", "position_effect"}) {
      EXPECT_LE(cell.metrics.at(name), 1 + 1e-12) << name;
    }
  }
}

TEST_P(PatternTest, IsBitIdenticalForAnyNumberOfThreads) {
  PatternCase pattern_case =
      Case(GetParam().name, 97, GetParam().is_causal_only);
  pattern_case.settings.map_size = 10;
  const auto one = Measure(pattern_case, 1);
  const auto three = Measure(pattern_case, 3);
  const auto again = Measure(pattern_case, 3);
  EXPECT_EQ(one.metrics, three.metrics);
  EXPECT_EQ(again.metrics, three.metrics);
  EXPECT_EQ(Values(*one.attention_map), Values(*three.attention_map));
}

TEST_P(PatternTest, ScoresDoNotDriftInRange) {
  const auto cell =
      Measure(Case(GetParam().name, kTrained, GetParam().is_causal_only));
  EXPECT_EQ(cell.metrics.at("score_drift"), 0);
  EXPECT_EQ(cell.metrics.at("score_drift_shared"), 0);
}

INSTANTIATE_TEST_SUITE_P(Schemes, PatternTest,
                         ::testing::ValuesIn(AllSchemes().begin(),
                                             AllSchemes().end()),
                         [](const auto& test) {
                           return std::string(test.param.name);
                         });

// Reference implementation of some metrics, computed from a map of all weights.
struct ReferenceMetrics {
  double entropy = 0;
  double window_mass = 0;
  double mean_distance = 0;
};
ReferenceMetrics ReferenceOf(const EvaluationCell& cell, int64_t length,
                             bool causal) {
  const std::vector<double> map = Values(*cell.attention_map);
  const int64_t heads = cell.attention_map->shape()[0];
  ReferenceMetrics reference;
  double queries = 0;
  for (int64_t row = 0; row < heads * length; ++row) {
    const int64_t i = row % length;
    double entropy = 0;
    for (int64_t j = 0; j < length; ++j) {
      const double weight = map[row * length + j];
      const int64_t distance = std::abs(i - j);
      if (weight > 0) entropy -= weight * std::log(weight);
      if (distance < kTrained / 2) reference.window_mass += weight;
      reference.mean_distance += weight * static_cast<double>(distance);
    }
    const int64_t visible = causal ? i + 1 : length;
    if (visible < 2) continue;
    reference.entropy += entropy / std::log(static_cast<double>(visible));
    queries += 1;
  }
  reference.entropy /= queries;
  reference.window_mass /= static_cast<double>(heads * length);
  reference.mean_distance /= static_cast<double>(heads * length);
  return reference;
}

TEST(PatternMetricsTest, MatchReference) {
  for (const bool causal : {false, true}) {
    PatternCase pattern_case = Case("t5_bias", 80, causal);
    pattern_case.settings.map_size = 80;
    const auto cell = Measure(pattern_case);
    const ReferenceMetrics reference = ReferenceOf(cell, 80, causal);
    EXPECT_NEAR(cell.metrics.at("entropy"), reference.entropy, 1e-5);
    EXPECT_NEAR(cell.metrics.at("window_mass"), reference.window_mass, 1e-6);
    EXPECT_NEAR(cell.metrics.at("mean_distance"), reference.mean_distance,
                1e-4);
  }
}

TEST(PatternMetricsTest, TokensDoNotDependOnTheLength) {
  // Under a causal mask, the first queries see the same keys in a longer
  // sequence.
  PatternCase shorter = Case("rope", 24, true);
  PatternCase longer = Case("rope", 48, true);
  shorter.settings.map_size = 24;
  longer.settings.map_size = 48;
  const auto small = Values(*Measure(shorter).attention_map);
  const auto large = Values(*Measure(longer).attention_map);
  for (int64_t i = 0; i < 24; ++i) {
    for (int64_t j = 0; j < 24; ++j) {
      EXPECT_EQ(small[i * 24 + j], large[i * 48 + j]);
    }
  }
}

TEST(PatternMetricsTest, PositionEffectIsZeroWithoutPositions) {
  EXPECT_EQ(Measure(Case("none", 96)).metrics.at("position_effect"), 0);
  EXPECT_GT(Measure(Case("rope", 96)).metrics.at("position_effect"), 0.05);
}

TEST(PatternMetricsTest, SharedContentShowsTheDriftOfRotations) {
  // With random content, far and near scores of a rotation have the same mean.
  const auto metrics = Measure(Case("rope", 256)).metrics;
  EXPECT_LT(metrics.at("score_drift"), 0.05);
  EXPECT_GT(metrics.at("score_drift_shared"), 0.1);
}

TEST(PatternMetricsTest, LinearBiasDriftsByItsSlopes) {
  // Without a mask, T = 128 and L = 64. The drift is the difference of the mean
  // distances of far and near pairs, times the mean of the slopes 1/16 and
  // 1/256.
  double near = 0;
  double near_pairs = 0;
  double far = 0;
  double far_pairs = 0;
  for (int i = 0; i < 128; ++i) {
    for (int j = 0; j < 128; ++j) {
      const int distance = std::abs(i - j);
      (distance < 64 ? near : far) += distance;
      (distance < 64 ? near_pairs : far_pairs) += 1;
    }
  }
  const double expected =
      (1.0 / 16 + 1.0 / 256) / 2 * (far / far_pairs - near / near_pairs);
  EXPECT_NEAR(Measure(Case("alibi", 128)).metrics.at("score_drift"), expected,
              0.05);
}

TEST(PatternMetricsTest, OnlyApplicableMetricsArePresent) {
  const auto has = [](absl::string_view scheme, const std::string& metric) {
    return Measure(Case(scheme, 96)).metrics.count(metric) == 1;
  };
  EXPECT_TRUE(has("sinusoidal", "similarity_decay"));
  EXPECT_TRUE(has("sinusoidal", "novelty"));
  EXPECT_FALSE(has("rope", "novelty"));
  EXPECT_TRUE(has("rope", "slow_pair_share"));
  EXPECT_FALSE(has("none", "slow_pair_share"));
  EXPECT_TRUE(has("alibi", "bias_outside_share"));
  EXPECT_FALSE(has("learned", "bias_outside_share"));
}

TEST(PatternMetricsTest, ClampedTableHasNoNovelty) {
  EXPECT_EQ(Measure(Case("learned", 256)).metrics.at("novelty"), 0);
  EXPECT_GT(Measure(Case("sinusoidal", 256)).metrics.at("novelty"), 1);
  EXPECT_EQ(Measure(Case("sinusoidal", kTrained)).metrics.at("novelty"), 0);
}

TEST(PatternMetricsTest, SlowPairsHavePeriodsBeyondTheTrainingLength) {
  // A head of 16 channels has 8 pairs with w_k = 10^(-k / 2). Periods exceed 64
  // from k = 3 on (2 pi 10^1.5 = 199; 2 pi 10 = 62.8).
  EXPECT_EQ(Measure(Case("rope", 96)).metrics.at("slow_pair_share"), 5.0 / 8);
}

TEST(PatternMetricsTest, BiasOutsideShareCountsFarPairs) {
  for (const bool causal : {false, true}) {
    double outside = 0;
    double all = 0;
    for (int i = 0; i < 96; ++i) {
      for (int j = 0; j <= (causal ? i : 95); ++j) {
        all += 1;
        if (std::abs(i - j) >= kTrained) outside += 1;
      }
    }
    EXPECT_NEAR(
        Measure(Case("t5_bias", 96, causal)).metrics.at("bias_outside_share"),
        outside / all, 1e-12);
  }
}

TEST(PatternMapTest, UnaveragedRowsSumToOne) {
  PatternCase pattern_case = Case("sinusoidal", 40);
  pattern_case.settings.map_size = 256;
  const auto cell = Measure(pattern_case);
  ASSERT_EQ(cell.attention_map->shape(), (Shape{2, 40, 40}));
  EXPECT_EQ(cell.attention_map->dtype(), DType::kFloat32);
  const auto map = Values(*cell.attention_map);
  for (int64_t row = 0; row < 80; ++row) {
    double sum = 0;
    for (int64_t j = 0; j < 40; ++j) sum += map[row * 40 + j];
    EXPECT_NEAR(sum, 1, 1e-5);
  }
}

TEST(PatternMapTest, BlocksAreAveraged) {
  PatternCase pattern_case = Case("rope", 40, true);
  pattern_case.settings.map_size = 40;
  const auto full = Values(*Measure(pattern_case).attention_map);
  pattern_case.settings.map_size = 7;  // does not divide 40
  const auto cell = Measure(pattern_case);
  ASSERT_EQ(cell.attention_map->shape(), (Shape{2, 7, 7}));
  const auto averaged = Values(*cell.attention_map);
  for (int64_t h = 0; h < 2; ++h) {
    for (int64_t r = 0; r < 7; ++r) {
      for (int64_t c = 0; c < 7; ++c) {
        double sum = 0;
        double count = 0;
        for (int64_t i = r * 40 / 7; i < (r + 1) * 40 / 7; ++i) {
          for (int64_t j = c * 40 / 7; j < (c + 1) * 40 / 7; ++j) {
            sum += full[(h * 40 + i) * 40 + j];
            count += 1;
          }
        }
        EXPECT_NEAR(averaged[(h * 7 + r) * 7 + c], sum / count, 1e-7);
      }
    }
  }
}

TEST(PatternMapTest, IsAbsentByDefault) {
  EXPECT_FALSE(Measure(Case("none", 8)).attention_map.has_value());
}

TEST(PatternMapTest, DoesNotChangeTheMetrics) {
  PatternCase pattern_case = Case("t5_bias", 70);
  const auto without = Measure(pattern_case);
  pattern_case.settings.map_size = 9;
  EXPECT_EQ(Measure(pattern_case).metrics, without.metrics);
}

TEST(PatternCaseTest, SupportsOneToken) {
  const auto cell = Measure(Case("alibi", 1));
  EXPECT_EQ(cell.metrics.at("mean_distance"), 0);
  EXPECT_EQ(cell.metrics.at("window_mass"), 1);
}

TEST(PatternCaseTest, RejectsCausalBiasWithoutMask) {
  PatternCase pattern_case = Case("alibi", 16, true);
  EXPECT_TRUE(CheckPattern(pattern_case).ok());
  pattern_case.settings.causal = false;
  const absl::Status status = CheckPattern(pattern_case);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(status.message(), HasSubstr("causal"));
}

TEST(PatternCaseTest, RejectsSchemeThatDoesNotFit) {
  PatternCase pattern_case = Case("rope", 16);
  pattern_case.settings = {.dim = 6, .head_count = 2};  // heads of 3 channels
  EXPECT_EQ(FieldOf(CheckPattern(pattern_case)), "scheme.rope.rotary_dim");
  ThreadPool pool(1);
  EXPECT_FALSE(MeasurePattern(pattern_case, pool, nullptr).ok());
}

TEST(PatternCaseTest, StopsWhenCancelled) {
  ThreadPool pool(2);
  std::atomic<int> polls = 0;
  const auto cell = MeasurePattern(Case("rope", 4096), pool, [&] {
    return ++polls < 20 ? absl::OkStatus() : absl::CancelledError("enough");
  });
  EXPECT_EQ(cell.status().code(), absl::StatusCode::kCancelled);
  EXPECT_LT(polls, 40);
}

TEST(PatternCaseTest, LeavesOutMetricsThatAreNotFinite) {
  Arguments steep;
  steep.Set("slopes", std::vector<double>{1e308, -1e308});
  steep.Set("symmetric", true);
  PatternCase pattern_case = Case("none", 80);
  pattern_case.scheme.scheme = *MakeScheme(*FindScheme("alibi"), steep);
  for (const auto& [name, value] : Measure(pattern_case).metrics) {
    EXPECT_TRUE(std::isfinite(value)) << name;
  }
}

TEST(PatternCostTest, MemoryIsLinearInTheLength) {
  const PatternSettings settings{
      .dim = 32, .head_count = 2, .causal = false, .map_size = 256};
  EXPECT_LT(PatternScratchBytes(settings, 8192), int64_t{1} << 26);
  EXPECT_LT(PatternScratchBytes(settings, 16384),
            2.1 * static_cast<double>(PatternScratchBytes(settings, 8192)));
  EXPECT_GT(PatternFlops(settings, 8192), 3 * PatternFlops(settings, 4096));
}

}  // namespace
}  // namespace locus
