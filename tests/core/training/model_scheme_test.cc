// Tests of models whose layers have different schemes, and of training with
// random positions.
#include "core/training/model_scheme.h"

#include <limits>

#include <gtest/gtest.h>

#include "tests/core/training/transformer_testing.h"

namespace locus {
namespace {

// A model with two or three kinds of layers in turn.
struct MixedLayers {
  std::string name;
  std::vector<std::string> schemes;
  std::vector<int64_t> windows;
};

std::vector<MixedLayers> AllMixedLayers() {
  return {
      {"rope_then_none", {"rope", "none"}, {0, 0}},
      {"local_rope_then_global", {"rope", "rope"}, {5, 0}},
      {"t5_then_kerple", {"t5_bias", "kerple"}, {0, 7}},
      {"learned_then_fire", {"learned", "fire"}, {0, 0}},
      {"t5_twice_apart", {"t5_bias", "t5_bias"}, {0, 1}},
      {"three_kinds", {"sinusoidal", "alibi", "rope"}, {0, 60, 3}},
  };
}

// A ModelScheme together with the schemes it refers to.
class MixedModel {
 public:
  MixedModel(const MixedLayers& mixed, bool causal)
      : model_(*Make(mixed, 0, causal)) {
    model_.layers.clear();
    for (size_t n = 0; n < mixed.schemes.size(); ++n) {
      // The initializer of model_ has made the first scheme.
      const Scheme* scheme =
          n == 0 ? schemes_[0].get() : Make(mixed, n, causal);
      model_.layers.push_back({.scheme = scheme, .window = mixed.windows[n]});
    }
  }

  const ModelScheme& model() const { return model_; }
  ModelScheme& model() { return model_; }

  // Compiles the schemes with their initial parameters.
  std::vector<CompiledScheme> Compile(const TransformerShape& shape,
                                      int64_t length) const {
    std::vector<CompiledScheme> compiled;
    for (const auto& scheme : schemes_) {
      auto made = scheme->Compile({.dim = scheme->site() == Site::kEmbeddings
                                              ? shape.dim
                                              : shape.head_dim(),
                                   .head_count = shape.head_count,
                                   .max_position = length - 1});
      EXPECT_TRUE(made.ok()) << made.status();
      compiled.push_back(*std::move(made));
    }
    return compiled;
  }

 private:
  const Scheme* Make(const MixedLayers& mixed, size_t n, bool causal) {
    Arguments arguments;
    // Two layers of one kind get different parameters.
    if (mixed.schemes[n] == "rope" && n > 0) arguments.Set("base", 37.0);
    if (mixed.schemes[n] == "t5_bias" && n > 0) {
      arguments.Set("seed", uint64_t{9});
    }
    schemes_.push_back(
        SchemeWithTrainingDefaults(mixed.schemes[n], causal, arguments));
    return schemes_.back().get();
  }

  std::vector<std::unique_ptr<Scheme>> schemes_;
  ModelScheme model_;
};

TransformerShape Shape(const MixedLayers& mixed, bool causal) {
  TransformerShape shape = OddShape(causal);
  // One layer more than there are kinds, so that the first kind repeats.
  shape.layer_count = static_cast<int64_t>(mixed.schemes.size()) + 1;
  return shape;
}

class PerLayerSchemesTest
    : public ::testing::TestWithParam<std::tuple<MixedLayers, bool>> {};

INSTANTIATE_TEST_SUITE_P(
    AllMixes, PerLayerSchemesTest,
    ::testing::Combine(::testing::ValuesIn(AllMixedLayers()),
                       ::testing::Bool()),
    [](const auto& test) {
      return std::get<0>(test.param).name +
             (std::get<1>(test.param) ? "_causal" : "_bidirectional");
    });

TEST_P(PerLayerSchemesTest, GradientsEqualCentralDifferences) {
  const auto& [mixed, causal] = GetParam();
  const TransformerShape shape = Shape(mixed, causal);
  const MixedModel made(mixed, causal);
  auto trainer = Trainer<double>::Create(shape, made.model(), {}, kLength, 5);
  ASSERT_TRUE(trainer.ok()) << trainer.status();
  ExpectGradientsEqualDifferences(**trainer, shape);
}

void ExpectLogitsEqualReference(Trainer<double>& trainer,
                                const ReferenceTransformer& reference,
                                const std::vector<Example>& batch) {
  ThreadPool pool(2);
  const int64_t vocabulary = trainer.weights().shape().vocabulary_size;
  int64_t checked = 0;
  const auto status = trainer.Test(
      batch, pool, nullptr,
      [&](const Example& example, absl::Span<const float> logits) {
        const auto expected = reference.Logits(example);
        for (size_t n = 0; n < expected.size(); ++n) {
          for (int64_t v = 0; v < vocabulary; ++v, ++checked) {
            EXPECT_NEAR(logits[n * vocabulary + v], expected[n][v], 2e-6);
          }
        }
      });
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_GT(checked, 100);
}

TEST_P(PerLayerSchemesTest, LogitsEqualReference) {
  const auto& [mixed, causal] = GetParam();
  const TransformerShape shape = Shape(mixed, causal);
  const MixedModel made(mixed, causal);
  auto trainer = Trainer<double>::Create(shape, made.model(), {}, kLength, 5);
  ASSERT_TRUE(trainer.ok()) << trainer.status();
  constexpr int64_t kLong = 2 * kLength + 3;
  const auto compiled = made.Compile(shape, kLong);
  std::vector<ReferenceTransformer::LayerKind> kinds;
  for (size_t n = 0; n < compiled.size(); ++n) {
    kinds.push_back({&compiled[n], mixed.windows[n]});
  }
  ExpectLogitsEqualReference(**trainer,
                             ReferenceTransformer((*trainer)->weights(), kinds),
                             RandomBatch(shape, 8, 3, kLong));
}

TEST(ModelSchemeTest, LayersOfOneSchemeShareItsParameters) {
  const auto scheme = SchemeWithTrainingDefaults("t5_bias", true);
  const auto reference = SchemeWithTrainingDefaults("t5_bias", true);
  const TransformerShape shape = OddShape(true);
  const auto size = [&](const ModelScheme& model) {
    const auto trainer = Trainer<float>::Create(shape, model, {}, kLength, 1);
    const auto& layout = (*trainer)->weights().layout();
    return layout.pieces()[layout.scheme].size();
  };
  ModelScheme apart(*scheme);
  apart.layers.push_back({.scheme = reference.get()});
  EXPECT_EQ(size(apart), 2 * size(*scheme));
  ModelScheme together(*scheme);
  together.layers.push_back({.scheme = scheme.get(), .window = 4});
  EXPECT_EQ(size(together), size(*scheme));
}

TEST(ModelSchemeTest, WindowOfTheWholeSequenceHidesNothing) {
  const auto scheme = SchemeWithTrainingDefaults("rope", true);
  const TransformerShape shape = OddShape(true);
  const auto batch = RandomBatch(shape, 3, 6, kLength);
  const auto trained = [&](int64_t window) {
    ModelScheme model(*scheme);
    model.layers[0].window = window;
    auto trainer = Trainer<float>::Create(shape, model, {}, kLength, 1);
    ThreadPool pool(1);
    EXPECT_TRUE((*trainer)->Step(batch, pool, nullptr).ok());
    const auto parameters = (*trainer)->weights().parameters();
    return std::vector<float>(parameters.begin(), parameters.end());
  };
  EXPECT_EQ(trained(kLength), trained(0));
  EXPECT_EQ(trained(std::numeric_limits<int64_t>::max()), trained(0));
  EXPECT_NE(trained(kLength - 1), trained(0));
}

// A model that is trained with random positions below `maximum`.
ModelScheme Randomized(const Scheme& scheme, uint64_t seed = 0,
                       int64_t maximum = 4 * kLength) {
  ModelScheme model(scheme);
  model.randomization = Randomization{.maximum = maximum, .seed = seed};
  return model;
}

class RandomizedTrainingTest : public ::testing::TestWithParam<std::string> {};

INSTANTIATE_TEST_SUITE_P(AllSchemes, RandomizedTrainingTest,
                         ::testing::ValuesIn(SchemeNames()),
                         [](const auto& test) { return test.param; });

TEST_P(RandomizedTrainingTest, GradientsEqualCentralDifferences) {
  for (const bool causal : {true, false}) {
    if (!causal && FindScheme(GetParam())->is_causal_only) continue;
    const TransformerShape shape = OddShape(causal);
    const auto scheme = SchemeWithTrainingDefaults(GetParam(), causal);
    auto trainer =
        Trainer<double>::Create(shape, Randomized(*scheme), {}, kLength, 5);
    ASSERT_TRUE(trainer.ok()) << trainer.status();
    ExpectGradientsEqualDifferences(**trainer, shape);
  }
}

// The loss of a step equals that of the reference with the positions from the
// random stream of that step.
TEST_P(RandomizedTrainingTest, LossEqualsReferenceAtRandomPositions) {
  const TransformerShape shape = OddShape(true);
  const auto scheme = SchemeWithTrainingDefaults(GetParam(), true);
  auto trainer =
      Trainer<double>::Create(shape, Randomized(*scheme, 3), {}, kLength, 5);
  ASSERT_TRUE(trainer.ok()) << trainer.status();
  const auto compiled = scheme->Compile(
      {.dim =
           scheme->site() == Site::kEmbeddings ? shape.dim : shape.head_dim(),
       .head_count = shape.head_count,
       .max_position = 4 * kLength - 1});
  ASSERT_TRUE(compiled.ok()) << compiled.status();
  RandomStream stream(5, "evaluation.randomized.training/3/0");
  const ReferenceTransformer reference(
      (*trainer)->weights(), {{&*compiled}},
      DrawPositions(stream, 4 * kLength, kLength));
  const auto batch = RandomBatch(shape, 8, 3, kLength);
  double loss = 0;
  int64_t targets = 0;
  for (const Example& example : batch) {
    const auto logits = reference.Logits(example);
    for (size_t n = 0; n < logits.size(); ++n, ++targets) {
      double total = 0;
      for (const double logit : logits[n]) total += std::exp(logit);
      loss += std::log(total) - logits[n][example.targets[n].token];
    }
  }
  ThreadPool pool(2);
  std::vector<double> gradient;
  const auto got = (*trainer)->Gradient(batch, pool, nullptr, &gradient);
  ASSERT_TRUE(got.ok()) << got.status();
  EXPECT_NEAR(*got, loss / static_cast<double>(targets), 1e-10);
}

// Parameters after three training steps.
std::vector<double> Trained(const ModelScheme& model, int threads,
                            uint64_t seed) {
  const TransformerShape shape = OddShape(true);
  auto trainer = Trainer<double>::Create(shape, model, {}, kLength, seed);
  ThreadPool pool(threads);
  for (uint64_t step = 0; step < 3; ++step) {
    const auto batch = RandomBatch(shape, step, 11, kLength);
    EXPECT_TRUE((*trainer)->Step(batch, pool, nullptr).ok());
  }
  const auto parameters = (*trainer)->weights().parameters();
  return {parameters.begin(), parameters.end()};
}

TEST_P(RandomizedTrainingTest, EqualSeedsTrainEqualModels) {
  const auto scheme = SchemeWithTrainingDefaults(GetParam(), true);
  const auto model = Trained(Randomized(*scheme, 3), 1, 5);
  EXPECT_EQ(model, Trained(Randomized(*scheme, 3), 4, 5));
  if (GetParam() == "none") return;  // does not depend on positions
  EXPECT_NE(model, Trained(Randomized(*scheme, 4), 1, 5));
  EXPECT_NE(model, Trained(*scheme, 1, 5));
}

TEST(RandomizedTrainingTest, MaximumOfTheLengthKeepsPlainPositions) {
  for (const std::string& name : SchemeNames()) {
    const auto scheme = SchemeWithTrainingDefaults(name, true);
    const auto model = Trained(Randomized(*scheme, 3, kLength), 1, 5);
    const auto plain = Trained(*scheme, 1, 5);
    ASSERT_EQ(model.size(), plain.size());
    // Gradients of biases are summed in another order and round differently.
    for (size_t n = 0; n < model.size(); ++n) {
      ASSERT_NEAR(model[n], plain[n], 1e-8) << name;
    }
  }
}

TEST(RandomizedTrainingTest, TestsHavePlainPositionsUnlessRandomized) {
  const TransformerShape shape = OddShape(true);
  const auto scheme = SchemeWithTrainingDefaults("rope", true);
  const auto batch = RandomBatch(shape, 8, 3, kLength);
  const auto logits = [&](const ModelScheme& model) {
    auto trainer = Trainer<float>::Create(shape, *scheme, {}, kLength, 5);
    ThreadPool pool(1);
    std::vector<float> all;
    EXPECT_TRUE(
        (*trainer)
            ->TestWithScheme(model, batch, pool, nullptr,
                             [&](const Example&, absl::Span<const float> some) {
                               all.insert(all.end(), some.begin(), some.end());
                             })
            .ok());
    return all;
  };
  ModelScheme model = Randomized(*scheme);
  EXPECT_EQ(logits(model), logits(*scheme));
  model.randomizes_tests = true;
  EXPECT_NE(logits(model), logits(*scheme));
  EXPECT_EQ(logits(model), logits(model));
}

}  // namespace
}  // namespace locus
