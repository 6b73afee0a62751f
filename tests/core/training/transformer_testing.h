// Small models for tests of the trainable transformer: a comparison of
// gradients with central differences, and a slow reference implementation.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "core/base/random.h"
#include "core/encoding/registry.h"
#include "core/parallel/thread_pool.h"
#include "core/training/trainer.h"
#include "core/training/transformer.h"

namespace locus {

// A small shape whose sizes are not multiples of vector lengths.
inline TransformerShape OddShape(bool causal) {
  return {.dim = 12,
          .layer_count = 2,
          .head_count = 3,
          .feed_forward_dim = 21,
          .vocabulary_size = 7,
          .causal = causal};
}

// Training length; more than one block of queries.
inline constexpr int64_t kLength = 53;

// Examples with random tokens and targets. The first one has max_length tokens,
// the others have random lengths.
inline std::vector<Example> RandomBatch(const TransformerShape& shape,
                                        uint64_t seed, int64_t count,
                                        int64_t max_length) {
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

// Makes a scheme with the defaults for training at kLength.
inline std::unique_ptr<Scheme> SchemeWithTrainingDefaults(
    absl::string_view name, bool causal, Arguments arguments = {}) {
  const TrainingSetting setting{.train_length = kLength, .causal = causal};
  auto scheme = MakeScheme(*FindScheme(name), std::move(arguments), &setting);
  EXPECT_TRUE(scheme.ok()) << scheme.status();
  return *std::move(scheme);
}

inline std::vector<std::string> SchemeNames() {
  std::vector<std::string> names;
  for (const SchemeInfo& info : AllSchemes()) names.emplace_back(info.name);
  return names;
}

// Compares the gradients of random elements of every tensor with central
// differences. Every tensor must have a gradient that is not zero.
inline void ExpectGradientsEqualDifferences(Trainer<double>& trainer,
                                            const TransformerShape& shape) {
  TransformerWeights<double>& weights = trainer.weights();
  // Gains start at one and shifts at zero, which could hide mistakes.
  RandomStream stream(6, "move");
  for (double& parameter : weights.parameters()) {
    parameter += 0.1 * stream.Normal();
  }
  const auto batch = RandomBatch(shape, 7, 5, kLength);
  ThreadPool pool(2);
  std::vector<double> gradient, ignored;
  ASSERT_TRUE(trainer.Gradient(batch, pool, nullptr, &gradient).ok());

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
      const double above = *trainer.Gradient(batch, pool, nullptr, &ignored);
      parameter = kept - kStep;
      const double below = *trainer.Gradient(batch, pool, nullptr, &ignored);
      parameter = kept;
      EXPECT_NEAR(gradient[n], (above - below) / (2 * kStep),
                  1e-7 * std::max(1.0, largest))
          << piece.name << "[" << n - piece.start << "]";
    }
  }
}

// Reference implementation of the model in double precision, one number at a
// time.
class ReferenceTransformer {
 public:
  using Row = std::vector<double>;

  struct LayerKind {
    const CompiledScheme* scheme;
    int64_t window = 0;  // 0 means no window
  };

  // Layer n has entry n of `layers`, modulo their number. Token n has position
  // positions[n], or n if `positions` is empty.
  ReferenceTransformer(TransformerWeights<double>& weights,
                       std::vector<LayerKind> layers,
                       std::vector<int64_t> positions = {})
      : weights_(weights),
        shape_(weights.shape()),
        layers_(std::move(layers)),
        positions_(std::move(positions)) {}

  std::vector<Row> Logits(const Example& example) const {
    const auto& layout = weights_.layout();
    const int64_t length = static_cast<int64_t>(example.tokens.size());
    std::vector<Row> x(length, Row(shape_.dim));
    for (int64_t p = 0; p < length; ++p) {
      Row code(shape_.dim, 0.0);
      for (int64_t c = 0; c < shape_.dim; ++c) {
        x[p][c] = At(layout.embedding, example.tokens[p], c);
      }
      for (const LayerKind& kind : layers_) {
        if (const auto* additive =
                std::get_if<std::unique_ptr<AdditiveCode>>(kind.scheme)) {
          (*additive)->Row(PositionOf(p), absl::MakeSpan(code));
          Accumulate(code, &x[p]);
        }
      }
    }
    for (size_t l = 0; l < layout.layers.size(); ++l) {
      const auto& layer = layout.layers[l];
      const auto attended = Attend(LayerNorm(x, layer.gain1, layer.shift1),
                                   layer, layers_[l % layers_.size()]);
      for (int64_t p = 0; p < length; ++p) {
        Accumulate(Times(attended[p], layer.wo), &x[p]);
      }
      const auto h = LayerNorm(x, layer.gain2, layer.shift2);
      for (int64_t p = 0; p < length; ++p) {
        Row hidden = Times(h[p], layer.w1);
        for (double& u : hidden) {
          u = 0.5 * u *
              (1 + std::tanh(std::sqrt(2 / M_PI) * (u + 0.044715 * u * u * u)));
        }
        Accumulate(Times(hidden, layer.w2), &x[p]);
      }
    }
    const auto h = LayerNorm(x, layout.gain, layout.shift);
    std::vector<Row> logits;
    for (const Target& target : example.targets) {
      logits.push_back(Times(h[target.index], layout.wout));
    }
    return logits;
  }

 private:
  int64_t PositionOf(int64_t n) const {
    return positions_.empty() ? n : positions_[n];
  }
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
  std::vector<Row> LayerNorm(const std::vector<Row>& x, int gain,
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
                          const TransformerLayout::Layer& layer,
                          const LayerKind& kind) const {
    const int64_t length = static_cast<int64_t>(h.size());
    const int64_t d = shape_.dim, hd = shape_.head_dim();
    std::vector<Row> qkv;
    for (int64_t p = 0; p < length; ++p) {
      qkv.push_back(Times(h[p], layer.wqkv));
      if (const auto* rotation = std::get_if<Rotation>(kind.scheme)) {
        Row cos(rotation->pair_count()), sin(rotation->pair_count());
        for (int64_t n = 0; n < 2 * shape_.head_count; ++n) {  // q, k heads
          const bool query = n < shape_.head_count;
          (query ? *rotation : rotation->OfKeys())
              .Angles(PositionOf(p), cos.data(), sin.data());
          rotation->Apply(cos.data(), sin.data(), qkv[p].data() + n * hd);
        }
      }
    }
    const auto* bias = std::get_if<std::unique_ptr<ScoreBias>>(kind.scheme);
    std::vector<Row> out(length, Row(d, 0.0));
    for (int64_t head = 0; head < shape_.head_count; ++head) {
      for (int64_t i = 0; i < length; ++i) {
        Row scores(length, 0.0);
        for (int64_t j = 0; j < length; ++j) {
          for (int64_t c = 0; c < hd; ++c) {
            scores[j] += qkv[i][head * hd + c] * qkv[j][d + head * hd + c];
          }
          scores[j] /= std::sqrt(static_cast<double>(hd));
          if (bias != nullptr) {
            scores[j] += (*bias)->At(head, PositionOf(i), PositionOf(j));
          }
          const bool near = kind.window == 0 || std::abs(i - j) < kind.window;
          if (!near || (shape_.causal && j > i)) scores[j] = -INFINITY;
        }
        const double max = *std::max_element(scores.begin(), scores.end());
        double total = 0;
        for (double& s : scores) total += s = std::exp(s - max);
        for (int64_t j = 0; j < length; ++j) {
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
  const std::vector<LayerKind> layers_;
  const std::vector<int64_t> positions_;
};

}  // namespace locus
