// Trains a small transformer: AdamW with warm-up, cosine decay and clipping.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/parallel/cancellation.h"
#include "core/parallel/thread_pool.h"
#include "core/encoding/scheme.h"
#include "core/training/task.h"
#include "core/training/transformer.h"

namespace locus {

struct TrainerOptions {
  int64_t step_count = 300;
  double learning_rate = 2e-3;
  int64_t warmup_step_count = 30;
  double weight_decay = 0.01;
  double clip_norm = 1;

  // The rate at a step, from 0 on: up linearly, then down along a cosine.
  double RateAt(int64_t step) const;
};

// One model with its scheme and optimizer. T is float; double for tests.
//
// A batch is split into a fixed number of shares, whose gradients are summed in
// a fixed order: results are the same to the bit for any number of threads.
template <typename T>
class Trainer {
 public:
  // For training sequences of at most train_length tokens. The schemes must
  // outlive it.
  static absl::StatusOr<std::unique_ptr<Trainer>> Create(
      const TransformerShape& shape, const ModelScheme& scheme,
      const TrainerOptions& options, int64_t train_length, uint64_t seed);
  ~Trainer();

  // The mean cross entropy of the batch in nats per target, after which all
  // parameters have moved. Otherwise what `stop` says, and nothing has.
  absl::StatusOr<double> Step(absl::Span<const Example> batch, ThreadPool& pool,
                              const StopCheck& stop);

  // The mean loss of a batch and its gradient, one number for each parameter.
  absl::StatusOr<double> Gradient(absl::Span<const Example> batch,
                                  ThreadPool& pool, const StopCheck& stop,
                                  std::vector<double>* gradient);

  // Tells `answer` the logits of each example, in order: [targets,
  // vocabulary_size] each.
  using Answer =
      std::function<void(const Example& example, absl::Span<const float>)>;
  absl::Status Test(absl::Span<const Example> examples, ThreadPool& pool,
                    const StopCheck& stop, const Answer& answer) {
    return TestAs(scheme_, examples, pool, stop, answer);
  }
  // The same under another scheme, which has as many parameters of its own.
  absl::Status TestAs(const ModelScheme& scheme,
                      absl::Span<const Example> examples, ThreadPool& pool,
                      const StopCheck& stop, const Answer& answer);

  TransformerWeights<T>& weights() { return weights_; }
  int64_t step() const { return step_; }

  // What training and tests hold at most, in bytes, but for the tables of
  // positions.
  static int64_t TrainingBytes(const TransformerShape& shape,
                               int64_t train_length, int64_t scheme_size);
  static int64_t TestBytes(const TransformerShape& shape, int64_t length,
                           int64_t target_count, int thread_count);
  // Of the tables of one scheme, and besides if its bias depends on both
  // positions.
  static int64_t TableBytes(const TransformerShape& shape, int64_t train_length,
                            int64_t longest);
  static int64_t PairwiseBytes(const TransformerShape& shape,
                               int64_t train_length, int64_t longest);

 private:
  struct Share;

  Trainer(const TransformerShape& shape, const ModelScheme& scheme,
          const TrainerOptions& options, int64_t train_length, uint64_t seed,
          std::unique_ptr<ModelPositions<T>> positions);
  absl::StatusOr<double> ComputeGradient(absl::Span<const Example> batch,
                                         ThreadPool& pool,
                                         const StopCheck& stop);
  void SumShares(ThreadPool& pool);
  void AddSchemeGradient();
  void CopySchemeParameters(ModelPositions<T>* positions) const;
  // Where tokens stand in a step or a test, if that is random.
  std::vector<int64_t> DrawnPositions(const Randomization& randomization,
                                      absl::string_view purpose, int64_t number,
                                      int64_t length) const;

  const ModelScheme scheme_;
  const TrainerOptions options_;
  const int64_t train_length_;
  const uint64_t seed_;
  TransformerWeights<T> weights_;
  std::unique_ptr<ModelPositions<T>> positions_;
  std::vector<std::unique_ptr<Share>> shares_;
  AlignedBuffer<T> moment1_;
  AlignedBuffer<T> moment2_;
  int64_t step_ = 0;
  bool packed_ = false;
};

}  // namespace locus
