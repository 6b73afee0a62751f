// Tests of the trainable transformer against a reference implementation and
// central differences, and of its trainer.
#include "core/training/transformer.h"

#include <cmath>
#include <numeric>

#include <gtest/gtest.h>

#include "core/base/random.h"
#include "core/encoding/registry.h"
#include "core/parallel/thread_pool.h"
#include "core/training/layer_ops.h"
#include "core/training/trainer.h"
#include "tests/core/training/transformer_testing.h"

namespace locus {
namespace {

// Parameters: the name of a scheme, and whether the model is causal.
class GradientTest
    : public ::testing::TestWithParam<std::tuple<std::string, bool>> {};

INSTANTIATE_TEST_SUITE_P(AllSchemes, GradientTest,
                         ::testing::Combine(::testing::ValuesIn(SchemeNames()),
                                            ::testing::Bool()),
                         [](const auto& test) {
                           return std::get<0>(test.param) +
                                  (std::get<1>(test.param) ? "_causal"
                                                           : "_bidirectional");
                         });

TEST_P(GradientTest, EqualsCentralDifferences) {
  const auto& [name, causal] = GetParam();
  if (!causal && FindScheme(name)->is_causal_only) {
    GTEST_SKIP() << name << " is defined for causal models only";
  }
  const TransformerShape shape = OddShape(causal);
  const auto scheme = SchemeWithTrainingDefaults(name, causal);
  auto trainer = Trainer<double>::Create(shape, *scheme, {}, kLength, 5);
  ASSERT_TRUE(trainer.ok()) << trainer.status();
  ExpectGradientsEqualDifferences(**trainer, shape);
}

TEST(GradientTest, InterpolatedTableUpdatesBothRows) {
  Arguments arguments;
  arguments.Set("max_length", int64_t{20});
  arguments.Set("policy", std::string("INTERPOLATE"));
  const TransformerShape shape = OddShape(true);
  const auto scheme = SchemeWithTrainingDefaults("learned", true, arguments);
  auto trainer = Trainer<double>::Create(shape, *scheme, {}, kLength, 5);
  ASSERT_TRUE(trainer.ok()) << trainer.status();
  TransformerWeights<double>& weights = (*trainer)->weights();
  const auto batch = RandomBatch(shape, 7, 3, kLength);
  ThreadPool pool(1);
  std::vector<double> gradient, ignored;
  ASSERT_TRUE((*trainer)->Gradient(batch, pool, nullptr, &gradient).ok());
  const auto& own = weights.layout().pieces()[weights.layout().scheme];
  ASSERT_EQ(own.size(), 20 * shape.dim);
  for (const int64_t n : {0L, 7L, 100L, 239L}) {
    double& parameter = weights.parameters()[own.start + n];
    const double kept = parameter;
    parameter = kept + 1e-5;
    const double above = *(*trainer)->Gradient(batch, pool, nullptr, &ignored);
    parameter = kept - 1e-5;
    const double below = *(*trainer)->Gradient(batch, pool, nullptr, &ignored);
    parameter = kept;
    EXPECT_NEAR(gradient[own.start + n], (above - below) / 2e-5, 1e-8);
  }
}

class ForwardTest : public GradientTest {};

INSTANTIATE_TEST_SUITE_P(AllSchemes, ForwardTest,
                         ::testing::Combine(::testing::ValuesIn(SchemeNames()),
                                            ::testing::Bool()),
                         [](const auto& test) {
                           return std::get<0>(test.param) +
                                  (std::get<1>(test.param) ? "_causal"
                                                           : "_bidirectional");
                         });

// Sequences exceed the training length.
TEST_P(ForwardTest, EqualsReference) {
  const auto& [name, causal] = GetParam();
  if (!causal && FindScheme(name)->is_causal_only) {
    GTEST_SKIP() << name << " is defined for causal models only";
  }
  const TransformerShape shape = OddShape(causal);
  const auto scheme = SchemeWithTrainingDefaults(name, causal);
  auto trainer = Trainer<double>::Create(shape, *scheme, {}, kLength, 5);
  ASSERT_TRUE(trainer.ok()) << trainer.status();
  const auto batch = RandomBatch(shape, 8, 3, 2 * kLength + 3);
  const auto compiled = scheme->Compile(
      {.dim =
           scheme->site() == Site::kEmbeddings ? shape.dim : shape.head_dim(),
       .head_count = shape.head_count,
       .max_position = 2 * kLength + 2});
  ASSERT_TRUE(compiled.ok()) << compiled.status();
  const ReferenceTransformer reference((*trainer)->weights(), {{&*compiled}});
  ThreadPool pool(2);
  int64_t checked = 0;
  const auto status = (*trainer)->Test(
      batch, pool, nullptr,
      [&](const Example& example, absl::Span<const float> logits) {
        const auto expected = reference.Logits(example);
        ASSERT_EQ(logits.size(), expected.size() * shape.vocabulary_size);
        for (size_t n = 0; n < expected.size(); ++n) {
          for (int64_t v = 0; v < shape.vocabulary_size; ++v) {
            EXPECT_NEAR(logits[n * shape.vocabulary_size + v], expected[n][v],
                        2e-6);
            ++checked;
          }
        }
      });
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_GT(checked, 100);
}

TEST(TrainerTest, ResultsDoNotDependOnTheNumberOfThreads) {
  for (const std::string& name : SchemeNames()) {
    const TransformerShape shape = OddShape(true);
    const auto scheme = SchemeWithTrainingDefaults(name, true);
    std::vector<std::vector<float>> results;
    for (const int threads : {1, 2, 5}) {
      ThreadPool pool(threads);
      auto trainer = Trainer<float>::Create(shape, *scheme, {}, kLength, 5);
      ASSERT_TRUE(trainer.ok()) << trainer.status();
      for (uint64_t step = 0; step < 4; ++step) {
        ASSERT_TRUE(
            (*trainer)
                ->Step(RandomBatch(shape, step, 19, kLength), pool, nullptr)
                .ok());
      }
      const auto parameters = (*trainer)->weights().parameters();
      results.emplace_back(parameters.begin(), parameters.end());
    }
    EXPECT_EQ(results[0], results[1]) << name;
    EXPECT_EQ(results[0], results[2]) << name;
  }
}

TEST(TrainerTest, OverfitsOneBatch) {
  const TransformerShape shape = OddShape(true);
  for (const std::string& name : SchemeNames()) {
    const auto scheme = SchemeWithTrainingDefaults(name, true);
    TrainerOptions options;
    options.step_count = 200;
    options.warmup_step_count = 10;
    options.learning_rate = 1e-2;
    auto trainer = Trainer<float>::Create(shape, *scheme, options, kLength, 5);
    const auto batch = RandomBatch(shape, 1, 4, 12);
    ThreadPool pool(2);
    const double first = *(*trainer)->Step(batch, pool, nullptr);
    double last = first;
    while ((*trainer)->step() < options.step_count) {
      last = *(*trainer)->Step(batch, pool, nullptr);
    }
    EXPECT_LT(last, 0.2 * first) << name;
  }
}

TEST(TrainerTest, SchemesStartFromTheSameWeights) {
  const TransformerShape shape = OddShape(true);
  const auto none = SchemeWithTrainingDefaults("none", true);
  const auto learned = SchemeWithTrainingDefaults("learned", true);
  const auto a = Trainer<float>::Create(shape, *none, {}, kLength, 5);
  const auto b = Trainer<float>::Create(shape, *learned, {}, kLength, 5);
  const int64_t shared = (*a)->weights().layout().size();
  EXPECT_GT((*b)->weights().layout().size(), shared);
  for (int64_t n = 0; n < shared; ++n) {
    ASSERT_EQ((*a)->weights().parameters()[n], (*b)->weights().parameters()[n]);
  }
}

TEST(TrainerTest, CancelledStepChangesNoParameters) {
  const TransformerShape shape = OddShape(true);
  const auto scheme = SchemeWithTrainingDefaults("rope", true);
  auto trainer = Trainer<float>::Create(shape, *scheme, {}, kLength, 5);
  const auto parameters = (*trainer)->weights().parameters();
  const std::vector<float> before(parameters.begin(), parameters.end());
  ThreadPool pool(2);
  const auto loss =
      (*trainer)->Step(RandomBatch(shape, 1, 8, kLength), pool,
                       [] { return absl::CancelledError("enough"); });
  EXPECT_EQ(loss.status().code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(before, std::vector<float>(parameters.begin(), parameters.end()));
}

// Cancellation takes effect after a few million multiplications, even in the
// middle of a long sequence that takes billions.
TEST(TrainerTest, PollsCancellationWithinASequence) {
  constexpr int64_t kLong = 3000;
  TransformerShape shape = OddShape(true);
  shape.dim = 48;
  shape.feed_forward_dim = 96;
  const auto scheme = SchemeWithTrainingDefaults("none", true);
  auto trainer = Trainer<float>::Create(shape, *scheme, {}, kLong, 5);
  ASSERT_TRUE(trainer.ok()) << trainer.status();
  const auto batch = RandomBatch(shape, 1, 1, kLong);
  ThreadPool pool(1);
  const double flops = shape.ForwardFlops(kLong);
  int64_t polls = 0;
  const CancellationCheck count = [&] {
    ++polls;
    return absl::OkStatus();
  };
  const auto ignore = [](const Example&, absl::Span<const float>) {};
  ASSERT_TRUE((*trainer)->Test(batch, pool, count, ignore).ok());
  EXPECT_GT(static_cast<double>(polls), flops / 1e8);
  polls = 0;
  ASSERT_TRUE((*trainer)->Step(batch, pool, count).ok());
  EXPECT_GT(static_cast<double>(polls), 3 * flops / 1e8);

  // The computation stops at the poll that cancels it.
  polls = 0;
  const CancellationCheck third = [&] {
    return ++polls < 3 ? absl::OkStatus() : absl::CancelledError("enough");
  };
  EXPECT_EQ((*trainer)->Test(batch, pool, third, ignore).code(),
            absl::StatusCode::kCancelled);
  EXPECT_EQ(polls, 3);
  polls = 0;
  EXPECT_EQ((*trainer)->Step(batch, pool, third).status().code(),
            absl::StatusCode::kCancelled);
  EXPECT_EQ(polls, 3);
}

TEST(TrainerTest, LearningRateWarmsUpAndDecays) {
  TrainerOptions options;
  options.step_count = 110;
  options.warmup_step_count = 10;
  options.learning_rate = 1;
  EXPECT_DOUBLE_EQ(options.LearningRateAt(0), 0.1);
  EXPECT_DOUBLE_EQ(options.LearningRateAt(9), 1);
  EXPECT_DOUBLE_EQ(options.LearningRateAt(10), 1);
  EXPECT_DOUBLE_EQ(options.LearningRateAt(60), 0.5);
  EXPECT_LT(options.LearningRateAt(109), 1e-3);
}

// Compares three steps with a straightforward implementation of AdamW.
TEST(TrainerTest, StepEqualsAdamWWithClippingAndDecay) {
  const TransformerShape shape = OddShape(true);
  const auto scheme = SchemeWithTrainingDefaults("t5_bias", true);
  TrainerOptions options;
  options.warmup_step_count = 0;
  options.weight_decay = 0.3;
  options.clip_norm = 0.05;
  auto trainer = Trainer<double>::Create(shape, *scheme, options, kLength, 5);
  ThreadPool pool(1);
  auto& weights = (*trainer)->weights();
  const size_t size = weights.layout().size();
  std::vector<double> expected(weights.parameters().begin(),
                               weights.parameters().end());
  std::vector<double> m(size, 0.0), v(size, 0.0), gradient;
  for (int64_t step = 0; step < 3; ++step) {
    const auto batch = RandomBatch(shape, step, 4, kLength);
    ASSERT_TRUE((*trainer)->Gradient(batch, pool, nullptr, &gradient).ok());
    const double norm = std::sqrt(std::inner_product(
        gradient.begin(), gradient.end(), gradient.begin(), 0.0));
    ASSERT_GT(norm, options.clip_norm);
    for (const auto& piece : weights.layout().pieces()) {
      for (int64_t n = piece.start; n < piece.start + piece.size(); ++n) {
        const double g = gradient[n] * options.clip_norm / norm;
        m[n] = kAdamBeta1 * m[n] + (1 - kAdamBeta1) * g;
        v[n] = kAdamBeta2 * v[n] + (1 - kAdamBeta2) * g * g;
        const double m_hat = m[n] / (1 - std::pow(kAdamBeta1, step + 1));
        const double v_hat = v[n] / (1 - std::pow(kAdamBeta2, step + 1));
        const double rate = options.LearningRateAt(step);
        if (piece.decays) expected[n] -= rate * 0.3 * expected[n];
        expected[n] -= rate * m_hat / (std::sqrt(v_hat) + 1e-8);
      }
    }
    ASSERT_TRUE((*trainer)->Step(batch, pool, nullptr).ok());
  }
  for (const auto& piece : weights.layout().pieces()) {
    for (int64_t n = piece.start; n < piece.start + piece.size(); ++n) {
      ASSERT_NEAR(weights.parameters()[n], expected[n], 1e-10) << piece.name;
    }
  }
}

}  // namespace
}  // namespace locus
