// Patterns of one seeded layer.
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

// The course's layer.
PatternCall Call(absl::string_view name, int64_t length, bool causal = false) {
  const TrainingSetting setting{.train_length = kTrained, .causal = causal};
  auto scheme = MakeScheme(*FindScheme(name), {}, &setting);
  EXPECT_TRUE(scheme.ok()) << scheme.status();
  PatternCall call;
  call.scheme = {std::string(name), *std::move(scheme)};
  call.settings = {.dim = 32, .head_count = 2, .causal = causal};
  call.train_length = kTrained;
  call.eval_length = length;
  call.seed = 5;
  return call;
}

EvaluationCell Measure(const PatternCall& call, int thread_count = 2) {
  ThreadPool pool(thread_count);
  auto cell = MeasurePattern(call, pool, nullptr);
  EXPECT_TRUE(cell.ok()) << cell.status();
  return *std::move(cell);
}

class PatternTest : public ::testing::TestWithParam<SchemeInfo> {};

TEST_P(PatternTest, MetricsAreThereAndFinite) {
  for (const bool causal : {false, true}) {
    if (GetParam().is_causal_only && !causal) continue;
    const auto cell = Measure(Call(GetParam().name, 96, causal));
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

TEST_P(PatternTest, IsTheSameForAnyNumberOfThreads) {
  PatternCall call = Call(GetParam().name, 97, GetParam().is_causal_only);
  call.settings.map_size = 10;
  const auto one = Measure(call, 1);
  const auto three = Measure(call, 3);
  const auto again = Measure(call, 3);
  EXPECT_EQ(one.metrics, three.metrics);
  EXPECT_EQ(again.metrics, three.metrics);
  EXPECT_EQ(Values(*one.attention_map), Values(*three.attention_map));
}

TEST_P(PatternTest, NothingDriftsInRange) {
  const auto cell =
      Measure(Call(GetParam().name, kTrained, GetParam().is_causal_only));
  EXPECT_EQ(cell.metrics.at("score_drift"), 0);
  EXPECT_EQ(cell.metrics.at("score_drift_shared"), 0);
}

INSTANTIATE_TEST_SUITE_P(Schemes, PatternTest,
                         ::testing::ValuesIn(AllSchemes().begin(),
                                             AllSchemes().end()),
                         [](const auto& info) {
                           return std::string(info.param.name);
                         });

// The metrics again, by the definition, from the map of all weights.
struct Twin {
  double entropy = 0;
  double window_mass = 0;
  double mean_distance = 0;
};
Twin TwinOf(const EvaluationCell& cell, int64_t length, bool causal) {
  const std::vector<double> map = Values(*cell.attention_map);
  const int64_t heads = cell.attention_map->shape()[0];
  Twin twin;
  double queries = 0;
  for (int64_t row = 0; row < heads * length; ++row) {
    const int64_t i = row % length;
    double entropy = 0;
    for (int64_t j = 0; j < length; ++j) {
      const double weight = map[row * length + j];
      const int64_t distance = std::abs(i - j);
      if (weight > 0) entropy -= weight * std::log(weight);
      if (distance < kTrained / 2) twin.window_mass += weight;
      twin.mean_distance += weight * static_cast<double>(distance);
    }
    const int64_t visible = causal ? i + 1 : length;
    if (visible < 2) continue;
    twin.entropy += entropy / std::log(static_cast<double>(visible));
    queries += 1;
  }
  twin.entropy /= queries;
  twin.window_mass /= static_cast<double>(heads * length);
  twin.mean_distance /= static_cast<double>(heads * length);
  return twin;
}

TEST(PatternMetricsTest, FollowFromTheMap) {
  for (const bool causal : {false, true}) {
    PatternCall call = Call("t5_bias", 80, causal);
    call.settings.map_size = 80;
    const auto cell = Measure(call);
    const Twin twin = TwinOf(cell, 80, causal);
    EXPECT_NEAR(cell.metrics.at("entropy"), twin.entropy, 1e-5);
    EXPECT_NEAR(cell.metrics.at("window_mass"), twin.window_mass, 1e-6);
    EXPECT_NEAR(cell.metrics.at("mean_distance"), twin.mean_distance, 1e-4);
  }
}

TEST(PatternMetricsTest, TokensDoNotDependOnTheLength) {
  // Causal: the first queries see the same keys in a longer sequence.
  PatternCall shorter = Call("rope", 24, true);
  PatternCall longer = Call("rope", 48, true);
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

TEST(PatternMetricsTest, NothingButPositionsChangesTheWeights) {
  EXPECT_EQ(Measure(Call("none", 96)).metrics.at("position_effect"), 0);
  EXPECT_GT(Measure(Call("rope", 96)).metrics.at("position_effect"), 0.05);
}

TEST(PatternMetricsTest, SharedContentShowsWhatRandomContentHides) {
  // Far scores of a rotation differ from near ones only if content is shared.
  const auto metrics = Measure(Call("rope", 256)).metrics;
  EXPECT_LT(metrics.at("score_drift"), 0.05);
  EXPECT_GT(metrics.at("score_drift_shared"), 0.1);
}

TEST(PatternMetricsTest, LinearPenaltyDriftsByItsSlopes) {
  // Unmasked, T = 128, L = 64: mean distances of far and of near pairs differ
  // by 85 1/3 - 27 1/2 or so, slopes are 1/16 and 1/256 on average.
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
  EXPECT_NEAR(Measure(Call("alibi", 128)).metrics.at("score_drift"), expected,
              0.05);
}

TEST(PatternMetricsTest, OnlyWhatAppliesIsThere) {
  const auto has = [](absl::string_view scheme, const std::string& metric) {
    return Measure(Call(scheme, 96)).metrics.count(metric) == 1;
  };
  EXPECT_TRUE(has("sinusoidal", "similarity_decay"));
  EXPECT_TRUE(has("sinusoidal", "novelty"));
  EXPECT_FALSE(has("rope", "novelty"));
  EXPECT_TRUE(has("rope", "slow_pair_share"));
  EXPECT_FALSE(has("none", "slow_pair_share"));
  EXPECT_TRUE(has("alibi", "bias_outside_share"));
  EXPECT_FALSE(has("learned", "bias_outside_share"));
}

TEST(PatternMetricsTest, ClampedTableHasNothingNew) {
  EXPECT_EQ(Measure(Call("learned", 256)).metrics.at("novelty"), 0);
  EXPECT_GT(Measure(Call("sinusoidal", 256)).metrics.at("novelty"), 1);
  EXPECT_EQ(Measure(Call("sinusoidal", kTrained)).metrics.at("novelty"), 0);
}

TEST(PatternMetricsTest, SlowPairsTurnLessThanOnceInRange) {
  // Heads of 16 channels: w_k = 10^(-k / 2), 8 pairs; periods exceed 64 from
  // k = 3 on (2 pi 10^1.5 = 199; 2 pi 10 = 62.8).
  EXPECT_EQ(Measure(Call("rope", 96)).metrics.at("slow_pair_share"), 5.0 / 8);
}

TEST(PatternMetricsTest, BiasesOutsideTheRangeAreCounted) {
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
        Measure(Call("t5_bias", 96, causal)).metrics.at("bias_outside_share"),
        outside / all, 1e-12);
  }
}

TEST(PatternMapTest, UnaveragedRowsSumToOne) {
  PatternCall call = Call("sinusoidal", 40);
  call.settings.map_size = 256;
  const auto cell = Measure(call);
  ASSERT_EQ(cell.attention_map->shape(), (Shape{2, 40, 40}));
  EXPECT_EQ(cell.attention_map->dtype(), DType::kFloat32);
  const auto map = Values(*cell.attention_map);
  for (int64_t row = 0; row < 80; ++row) {
    double sum = 0;
    for (int64_t j = 0; j < 40; ++j) sum += map[row * 40 + j];
    EXPECT_NEAR(sum, 1, 1e-5);
  }
}

TEST(PatternMapTest, BlocksAreMeans) {
  PatternCall call = Call("rope", 40, true);
  call.settings.map_size = 40;
  const auto fine = Values(*Measure(call).attention_map);
  call.settings.map_size = 7;  // does not divide 40
  const auto cell = Measure(call);
  ASSERT_EQ(cell.attention_map->shape(), (Shape{2, 7, 7}));
  const auto coarse = Values(*cell.attention_map);
  for (int64_t h = 0; h < 2; ++h) {
    for (int64_t r = 0; r < 7; ++r) {
      for (int64_t c = 0; c < 7; ++c) {
        double sum = 0;
        double count = 0;
        for (int64_t i = r * 40 / 7; i < (r + 1) * 40 / 7; ++i) {
          for (int64_t j = c * 40 / 7; j < (c + 1) * 40 / 7; ++j) {
            sum += fine[(h * 40 + i) * 40 + j];
            count += 1;
          }
        }
        EXPECT_NEAR(coarse[(h * 7 + r) * 7 + c], sum / count, 1e-7);
      }
    }
  }
}

TEST(PatternMapTest, ThereIsNoneUnlessAskedFor) {
  EXPECT_FALSE(Measure(Call("none", 8)).attention_map.has_value());
}

TEST(PatternMapTest, DoesNotChangeTheMetrics) {
  PatternCall call = Call("t5_bias", 70);
  const auto without = Measure(call);
  call.settings.map_size = 9;
  EXPECT_EQ(Measure(call).metrics, without.metrics);
}

TEST(PatternCallTest, OneTokenIsEnough) {
  const auto cell = Measure(Call("alibi", 1));
  EXPECT_EQ(cell.metrics.at("mean_distance"), 0);
  EXPECT_EQ(cell.metrics.at("window_mass"), 1);
}

TEST(PatternCallTest, CausalBiasIsRefusedUnmasked) {
  PatternCall call = Call("alibi", 16, true);
  EXPECT_TRUE(CheckPattern(call).ok());
  call.settings.causal = false;
  const absl::Status status = CheckPattern(call);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(status.message(), HasSubstr("causal"));
}

TEST(PatternCallTest, SchemeThatDoesNotFitIsRefused) {
  PatternCall call = Call("rope", 16);
  call.settings = {.dim = 6, .head_count = 2};  // heads of 3 channels
  EXPECT_EQ(FieldOf(CheckPattern(call)), "scheme.rope.rotary_dim");
  ThreadPool pool(1);
  EXPECT_FALSE(MeasurePattern(call, pool, nullptr).ok());
}

TEST(PatternCallTest, StopsWhenTold) {
  ThreadPool pool(2);
  std::atomic<int> asked = 0;
  const auto cell = MeasurePattern(Call("rope", 4096), pool, [&] {
    return ++asked < 20 ? absl::OkStatus() : absl::CancelledError("enough");
  });
  EXPECT_EQ(cell.status().code(), absl::StatusCode::kCancelled);
  EXPECT_LT(asked, 40);
}

TEST(PatternCallTest, AbsurdNumbersAreLeftOut) {
  Arguments steep;
  steep.Set("slopes", std::vector<double>{1e308, -1e308});
  steep.Set("symmetric", true);
  PatternCall call = Call("none", 80);
  call.scheme.scheme = *MakeScheme(*FindScheme("alibi"), steep);
  for (const auto& [name, value] : Measure(call).metrics) {
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
