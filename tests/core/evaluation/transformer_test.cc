// The trainable transformer, held to its definition and to differences.
#include "core/evaluation/transformer.h"

#include <cmath>
#include <numeric>

#include <gtest/gtest.h>

#include "core/base/random.h"
#include "core/base/thread_pool.h"
#include "core/encoding/schemes.h"
#include "core/evaluation/rows.h"
#include "core/evaluation/trainer.h"

namespace locus {
namespace {

// Small and odd everywhere.
TransformerShape OddShape(bool causal) {
  return {.dim = 12,
          .layer_count = 2,
          .head_count = 3,
          .feed_forward_dim = 21,
          .vocabulary_size = 7,
          .causal = causal};
}

constexpr int64_t kLength = 53;  // more than one block of queries

std::vector<Example> RandomBatch(const TransformerShape& shape, uint64_t seed,
                                 int64_t count, int64_t max_length) {
  RandomStream stream(seed, "batch");
  std::vector<Example> batch;
  for (int64_t s = 0; s < count; ++s) {
    Example example;
    const int64_t length =
        s == 0 ? max_length
               : 1 + static_cast<int64_t>(stream.Next() % max_length);
    for (int64_t t = 0; t < length; ++t) {
      example.tokens.push_back(
          static_cast<int32_t>(stream.Next() % shape.vocabulary_size));
      if (stream.Uniform() < 0.4 || t + 1 == length) {
        example.targets.push_back(
            {static_cast<int32_t>(t),
             static_cast<int32_t>(stream.Next() % shape.vocabulary_size)});
      }
    }
    batch.push_back(std::move(example));
  }
  return batch;
}

std::unique_ptr<Scheme> SuitedScheme(absl::string_view name, bool causal,
                                     Arguments arguments = {}) {
  const TrainingSetting setting{.train_length = kLength, .causal = causal};
  auto scheme = MakeScheme(*FindScheme(name), std::move(arguments), &setting);
  EXPECT_TRUE(scheme.ok()) << scheme.status();
  return *std::move(scheme);
}

std::vector<std::string> SchemeNames() {
  std::vector<std::string> names;
  for (const SchemeInfo& info : AllSchemes()) names.emplace_back(info.name);
  return names;
}

// Scheme, causal.
class GradientTest
    : public ::testing::TestWithParam<std::tuple<std::string, bool>> {};

INSTANTIATE_TEST_SUITE_P(AllSchemes, GradientTest,
                         ::testing::Combine(::testing::ValuesIn(SchemeNames()),
                                            ::testing::Bool()),
                         [](const auto& info) {
                           return std::get<0>(info.param) +
                                  (std::get<1>(info.param) ? "_causal"
                                                           : "_bidirectional");
                         });

// Every tensor of the model: a number of its entries, chosen at random, and the
// direction of the whole gradient.
TEST_P(GradientTest, EqualsCentralDifferences) {
  const auto& [name, causal] = GetParam();
  if (!causal && FindScheme(name)->is_causal_only) return;
  const TransformerShape shape = OddShape(causal);
  const auto scheme = SuitedScheme(name, causal);
  auto trainer = Trainer<double>::Create(shape, *scheme, {}, kLength, 5);
  ASSERT_TRUE(trainer.ok()) << trainer.status();
  TransformerWeights<double>& weights = (*trainer)->weights();
  // Gains and shifts start at one and zero, where mistakes could hide.
  RandomStream stream(6, "move");
  for (double& parameter : weights.parameters()) {
    parameter += 0.1 * stream.Normal();
  }
  const auto batch = RandomBatch(shape, 7, 5, kLength);
  ThreadPool pool(2);
  std::vector<double> gradient, ignored;
  ASSERT_TRUE((*trainer)->Gradient(batch, pool, nullptr, &gradient).ok());

  constexpr double kStep = 1e-5;
  for (const auto& piece : weights.layout().pieces()) {
    double largest = 0;
    for (int64_t n = 0; n < piece.size(); ++n) {
      largest = std::max(largest, std::abs(gradient[piece.start + n]));
    }
    if (piece.size() > 0) {
      EXPECT_GT(largest, 1e-6) << piece.name << " has no gradient";
    }
    for (int probe = 0; probe < std::min<int64_t>(12, piece.size()); ++probe) {
      const int64_t n =
          piece.start + static_cast<int64_t>(stream.Next() % piece.size());
      double& parameter = weights.parameters()[n];
      const double kept = parameter;
      parameter = kept + kStep;
      const double above =
          *(*trainer)->Gradient(batch, pool, nullptr, &ignored);
      parameter = kept - kStep;
      const double below =
          *(*trainer)->Gradient(batch, pool, nullptr, &ignored);
      parameter = kept;
      EXPECT_NEAR(gradient[n], (above - below) / (2 * kStep),
                  1e-7 * std::max(1.0, largest))
          << piece.name << "[" << n - piece.start << "]";
    }
  }
}

TEST(GradientTest, InterpolatedTableLearnsBothRows) {
  Arguments arguments;
  arguments.Set("max_length", int64_t{20});
  arguments.Set("policy", std::string("INTERPOLATE"));
  const TransformerShape shape = OddShape(true);
  const auto scheme = SuitedScheme("learned", true, arguments);
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

// The model again, from its definition, one number at a time.
class SlowTwin {
 public:
  using Row = std::vector<double>;

  SlowTwin(TransformerWeights<double>& weights, const CompiledScheme& scheme)
      : weights_(weights), shape_(weights.shape()), scheme_(scheme) {}

  std::vector<Row> Logits(const Example& example) const {
    const auto& layout = weights_.layout();
    const int64_t length = static_cast<int64_t>(example.tokens.size());
    std::vector<Row> x(length, Row(shape_.dim));
    for (int64_t p = 0; p < length; ++p) {
      Row code(shape_.dim, 0.0);
      if (const auto* additive =
              std::get_if<std::unique_ptr<AdditiveCode>>(&scheme_)) {
        (*additive)->Row(p, absl::MakeSpan(code));
      }
      for (int64_t c = 0; c < shape_.dim; ++c) {
        x[p][c] = At(layout.embedding, example.tokens[p], c) + code[c];
      }
    }
    for (const auto& layer : layout.layers) {
      const auto mixed = Attend(Normalize(x, layer.gain1, layer.shift1), layer);
      for (int64_t p = 0; p < length; ++p) {
        Accumulate(Times(mixed[p], layer.wo), &x[p]);
      }
      const auto h = Normalize(x, layer.gain2, layer.shift2);
      for (int64_t p = 0; p < length; ++p) {
        Row wide = Times(h[p], layer.w1);
        for (double& u : wide) {
          u = 0.5 * u *
              (1 + std::tanh(std::sqrt(2 / M_PI) * (u + 0.044715 * u * u * u)));
        }
        Accumulate(Times(wide, layer.w2), &x[p]);
      }
    }
    const auto h = Normalize(x, layout.gain, layout.shift);
    std::vector<Row> logits;
    for (const Target& target : example.targets) {
      logits.push_back(Times(h[target.index], layout.wout));
    }
    return logits;
  }

 private:
  double At(int piece, int64_t row, int64_t column) const {
    return weights_.matrix(piece).row(row)[column];
  }
  Row Times(const Row& x, int piece) const {
    const auto w = weights_.matrix(piece);
    Row y(w.columns, 0.0);
    for (int64_t k = 0; k < w.rows; ++k) {
      for (int64_t n = 0; n < w.columns; ++n) y[n] += x[k] * w.row(k)[n];
    }
    return y;
  }
  static void Accumulate(const Row& from, Row* to) {
    for (size_t c = 0; c < from.size(); ++c) (*to)[c] += from[c];
  }
  std::vector<Row> Normalize(const std::vector<Row>& x, int gain,
                             int shift) const {
    std::vector<Row> out = x;
    for (Row& row : out) {
      double mean = 0, variance = 0;
      for (const double v : row) mean += v / static_cast<double>(row.size());
      for (const double v : row) {
        variance += (v - mean) * (v - mean) / static_cast<double>(row.size());
      }
      for (size_t c = 0; c < row.size(); ++c) {
        row[c] = (row[c] - mean) / std::sqrt(variance + 1e-5) *
                     At(gain, 0, static_cast<int64_t>(c)) +
                 At(shift, 0, static_cast<int64_t>(c));
      }
    }
    return out;
  }
  std::vector<Row> Attend(const std::vector<Row>& h,
                          const TransformerLayout::Layer& layer) const {
    const int64_t length = static_cast<int64_t>(h.size());
    const int64_t d = shape_.dim, hd = shape_.head_dim();
    std::vector<Row> qkv;
    for (int64_t p = 0; p < length; ++p) {
      qkv.push_back(Times(h[p], layer.wqkv));
      if (const auto* rotation = std::get_if<Rotation>(&scheme_)) {
        Row cos(rotation->pair_count()), sin(rotation->pair_count());
        for (int64_t n = 0; n < 2 * shape_.head_count; ++n) {  // q, k heads
          const bool query = n < shape_.head_count;
          (query ? *rotation : rotation->OfKeys())
              .Angles(p, cos.data(), sin.data());
          rotation->Apply(cos.data(), sin.data(), qkv[p].data() + n * hd);
        }
      }
    }
    const auto* bias = std::get_if<std::unique_ptr<ScoreBias>>(&scheme_);
    std::vector<Row> out(length, Row(d, 0.0));
    for (int64_t head = 0; head < shape_.head_count; ++head) {
      for (int64_t i = 0; i < length; ++i) {
        const int64_t seen = shape_.causal ? i + 1 : length;
        Row scores(seen, 0.0);
        for (int64_t j = 0; j < seen; ++j) {
          for (int64_t c = 0; c < hd; ++c) {
            scores[j] += qkv[i][head * hd + c] * qkv[j][d + head * hd + c];
          }
          scores[j] /= std::sqrt(static_cast<double>(hd));
          if (bias != nullptr) scores[j] += (*bias)->At(head, i, j);
        }
        const double max = *std::max_element(scores.begin(), scores.end());
        double total = 0;
        for (double& s : scores) total += s = std::exp(s - max);
        for (int64_t j = 0; j < seen; ++j) {
          for (int64_t c = 0; c < hd; ++c) {
            out[i][head * hd + c] +=
                scores[j] / total * qkv[j][2 * d + head * hd + c];
          }
        }
      }
    }
    return out;
  }

  const TransformerWeights<double>& weights_;
  const TransformerShape shape_;
  const CompiledScheme& scheme_;
};

class ForwardTest : public GradientTest {};

INSTANTIATE_TEST_SUITE_P(AllSchemes, ForwardTest,
                         ::testing::Combine(::testing::ValuesIn(SchemeNames()),
                                            ::testing::Bool()),
                         [](const auto& info) {
                           return std::get<0>(info.param) +
                                  (std::get<1>(info.param) ? "_causal"
                                                           : "_bidirectional");
                         });

// Beyond the training length, too.
TEST_P(ForwardTest, EqualsTheSlowTwin) {
  const auto& [name, causal] = GetParam();
  if (!causal && FindScheme(name)->is_causal_only) return;
  const TransformerShape shape = OddShape(causal);
  const auto scheme = SuitedScheme(name, causal);
  auto trainer = Trainer<double>::Create(shape, *scheme, {}, kLength, 5);
  ASSERT_TRUE(trainer.ok()) << trainer.status();
  const auto batch = RandomBatch(shape, 8, 3, 2 * kLength + 3);
  const auto compiled = scheme->Compile(
      {.dim =
           scheme->site() == Site::kEmbeddings ? shape.dim : shape.head_dim(),
       .head_count = shape.head_count,
       .max_position = 2 * kLength + 2});
  ASSERT_TRUE(compiled.ok()) << compiled.status();
  const SlowTwin twin((*trainer)->weights(), *compiled);
  ThreadPool pool(2);
  int64_t checked = 0;
  const auto status = (*trainer)->Test(
      batch, pool, nullptr,
      [&](const Example& example, absl::Span<const float> logits) {
        const auto expected = twin.Logits(example);
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
    const auto scheme = SuitedScheme(name, true);
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

TEST(TrainerTest, LearnsABatchByHeart) {
  const TransformerShape shape = OddShape(true);
  for (const std::string& name : SchemeNames()) {
    const auto scheme = SuitedScheme(name, true);
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
  const auto none = SuitedScheme("none", true);
  const auto learned = SuitedScheme("learned", true);
  const auto a = Trainer<float>::Create(shape, *none, {}, kLength, 5);
  const auto b = Trainer<float>::Create(shape, *learned, {}, kLength, 5);
  const int64_t shared = (*a)->weights().layout().size();
  EXPECT_GT((*b)->weights().layout().size(), shared);
  for (int64_t n = 0; n < shared; ++n) {
    ASSERT_EQ((*a)->weights().parameters()[n], (*b)->weights().parameters()[n]);
  }
}

TEST(TrainerTest, StopsAndMovesNothing) {
  const TransformerShape shape = OddShape(true);
  const auto scheme = SuitedScheme("rope", true);
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

// One long sequence is not one long piece of work: whoever cancels waits for a
// few million multiplications, not for billions.
TEST(TrainerTest, AsksWhetherToStopWithinASequence) {
  constexpr int64_t kLong = 3000;
  TransformerShape shape = OddShape(true);
  shape.dim = 48;
  shape.feed_forward_dim = 96;
  const auto scheme = SuitedScheme("none", true);
  auto trainer = Trainer<float>::Create(shape, *scheme, {}, kLong, 5);
  ASSERT_TRUE(trainer.ok()) << trainer.status();
  const auto batch = RandomBatch(shape, 1, 1, kLong);
  ThreadPool pool(1);
  const double flops = shape.ForwardFlops(kLong);
  int64_t asked = 0;
  const StopCheck count = [&] {
    ++asked;
    return absl::OkStatus();
  };
  const auto ignore = [](const Example&, absl::Span<const float>) {};
  ASSERT_TRUE((*trainer)->Test(batch, pool, count, ignore).ok());
  EXPECT_GT(static_cast<double>(asked), flops / 1e8);
  asked = 0;
  ASSERT_TRUE((*trainer)->Step(batch, pool, count).ok());
  EXPECT_GT(static_cast<double>(asked), 3 * flops / 1e8);

  // And stops where it is told to.
  asked = 0;
  const StopCheck third = [&] {
    return ++asked < 3 ? absl::OkStatus() : absl::CancelledError("enough");
  };
  EXPECT_EQ((*trainer)->Test(batch, pool, third, ignore).code(),
            absl::StatusCode::kCancelled);
  EXPECT_EQ(asked, 3);
  asked = 0;
  EXPECT_EQ((*trainer)->Step(batch, pool, third).status().code(),
            absl::StatusCode::kCancelled);
  EXPECT_EQ(asked, 3);
}

TEST(TrainerTest, RateWarmsUpAndDecays) {
  TrainerOptions options;
  options.step_count = 110;
  options.warmup_step_count = 10;
  options.learning_rate = 1;
  EXPECT_DOUBLE_EQ(options.RateAt(0), 0.1);
  EXPECT_DOUBLE_EQ(options.RateAt(9), 1);
  EXPECT_DOUBLE_EQ(options.RateAt(10), 1);
  EXPECT_DOUBLE_EQ(options.RateAt(60), 0.5);
  EXPECT_LT(options.RateAt(109), 1e-3);
}

// AdamW by its definition, with clipping, on the numbers of one step.
TEST(TrainerTest, StepIsAdamWithClippingAndDecay) {
  const TransformerShape shape = OddShape(true);
  const auto scheme = SuitedScheme("t5_bias", true);
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
        const double rate = options.RateAt(step);
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
