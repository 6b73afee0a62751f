// Trains a small transformer with AdamW (Loshchilov and Hutter, 2019), linear
// warm-up, cosine decay of the learning rate, and gradient clipping.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/encoding/scheme.h"
#include "core/parallel/cancellation.h"
#include "core/parallel/thread_pool.h"
#include "core/training/task.h"
#include "core/training/transformer.h"

namespace locus {

struct TrainerOptions {
  int64_t step_count = 300;
  // Peak learning rate.
  double learning_rate = 2e-3;
  int64_t warmup_step_count = 30;
  double weight_decay = 0.01;
  // Maximum L2 norm of the gradient of a step; larger gradients are scaled.
  double clip_norm = 1;

  // Learning rate at a step, counted from 0: rises linearly during warm-up,
  // then falls to zero along a cosine.
  double LearningRateAt(int64_t step) const;
};

// A model with its position scheme and optimizer state. T is float; tests use
// double.
//
// A batch is split into a fixed number of shards whose gradients are summed in
// a fixed order, so that results are bit-identical for any number of threads.
// Not thread-safe; the methods use the threads of the pool they are given.
template <typename T>
class Trainer {
 public:
  // Creates a model with seeded weights for training sequences of at most
  // train_length tokens. The schemes must outlive the trainer.
  static absl::StatusOr<std::unique_ptr<Trainer>> Create(
      const TransformerShape& shape, const ModelScheme& scheme,
      const TrainerOptions& options, int64_t train_length, uint64_t seed);
  ~Trainer();

  // Trains one step and returns the mean cross-entropy of the batch before the
  // update, in nats per target. If `stop` cancels the step, its status is
  // returned and no parameter changes.
  absl::StatusOr<double> Step(absl::Span<const Example> batch, ThreadPool& pool,
                              const CancellationCheck& stop);

  // Computes the mean loss of a batch and its gradient with respect to each
  // parameter, without updating the parameters.
  absl::StatusOr<double> Gradient(absl::Span<const Example> batch,
                                  ThreadPool& pool,
                                  const CancellationCheck& stop,
                                  std::vector<double>* gradient);

  // Receives the logits of one example: [targets, vocabulary_size].
  using LogitsCallback =
      std::function<void(const Example& example, absl::Span<const float>)>;
  // Runs the model on the examples and calls `on_logits` for each of them, in
  // order, from the calling thread.
  absl::Status Test(absl::Span<const Example> examples, ThreadPool& pool,
                    const CancellationCheck& stop,
                    const LogitsCallback& on_logits) {
    return TestWithScheme(scheme_, examples, pool, stop, on_logits);
  }
  // Like Test(), with another scheme in place of the one that was trained. Both
  // must have the same number of learned parameters.
  absl::Status TestWithScheme(const ModelScheme& scheme,
                              absl::Span<const Example> examples,
                              ThreadPool& pool, const CancellationCheck& stop,
                              const LogitsCallback& on_logits);

  TransformerWeights<T>& weights() { return weights_; }
  // Number of completed steps.
  int64_t step() const { return step_; }

  // Upper bounds of the memory of training and of a test, in bytes, without the
  // position tables.
  static int64_t TrainingBytes(const TransformerShape& shape,
                               int64_t train_length, int64_t scheme_size);
  static int64_t TestBytes(const TransformerShape& shape, int64_t length,
                           int64_t target_count, int thread_count);
  // Memory of the position tables of one scheme, in bytes. PairwiseBytes() is
  // added if the scheme's bias depends on both positions.
  static int64_t TableBytes(const TransformerShape& shape, int64_t train_length,
                            int64_t longest);
  static int64_t PairwiseBytes(const TransformerShape& shape,
                               int64_t train_length, int64_t longest);

 private:
  struct Shard;

  Trainer(const TransformerShape& shape, const ModelScheme& scheme,
          const TrainerOptions& options, int64_t train_length, uint64_t seed,
          std::unique_ptr<ModelPositions<T>> positions);
  // Leaves the gradient of the mean loss in the first shard and returns the
  // loss.
  absl::StatusOr<double> ComputeGradient(absl::Span<const Example> batch,
                                         ThreadPool& pool,
                                         const CancellationCheck& stop);
  // Adds the gradients of all other shards to that of the first.
  void SumShards(ThreadPool& pool);
  // Computes the gradient of the scheme's parameters in the first shard.
  void AddSchemeGradient();
  void CopySchemeParameters(ModelPositions<T>* positions) const;
  // Random positions for a training step or a test, numbered `number`.
  std::vector<int64_t> RandomPositions(const Randomization& randomization,
                                       absl::string_view purpose,
                                       int64_t number, int64_t length) const;

  const ModelScheme scheme_;
  const TrainerOptions options_;
  const int64_t train_length_;
  const uint64_t seed_;
  TransformerWeights<T> weights_;
  std::unique_ptr<ModelPositions<T>> positions_;
  std::vector<std::unique_ptr<Shard>> shards_;
  AlignedBuffer<T> moment1_;
  AlignedBuffer<T> moment2_;
  int64_t step_ = 0;
  bool packed_ = false;  // whether the packed weights are up to date
};

}  // namespace locus
