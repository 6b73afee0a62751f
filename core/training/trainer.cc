#include "core/training/trainer.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "core/base/mutex.h"
#include "core/base/random.h"
#include "core/base/status.h"
#include "core/parallel/cancellation.h"
#include "core/training/layer_ops.h"

namespace locus {
namespace {

constexpr double kPi = 3.14159265358979323846;

// Number of shards of a batch. Independent of the number of threads, so that
// sums are rounded alike.
constexpr int64_t kShardCount = 8;
// Maximum number of tokens of the sequences that go through the model together;
// longer sequences go alone. Large enough for efficient matrix products, small
// enough for the activations to stay in the cache.
constexpr int64_t kGroupTokens = 64;
// Number of examples of a test that are run at a time. Their logits are
// buffered, to be delivered in order.
constexpr int64_t kBufferedExamples = 32;
// Number of parameters that are summed by one task of the pool.
constexpr int64_t kParameterChunk = 8192;

// Passes that no thread is using. At most one is created per thread.
template <typename T>
class IdlePasses {
 public:
  // Null if there is none.
  std::unique_ptr<TransformerPass<T>> Take() ABSL_LOCKS_EXCLUDED(mutex_) {
    const MutexLock lock(&mutex_);
    if (passes_.empty()) return nullptr;
    std::unique_ptr<TransformerPass<T>> pass = std::move(passes_.back());
    passes_.pop_back();
    return pass;
  }
  void Return(std::unique_ptr<TransformerPass<T>> pass)
      ABSL_LOCKS_EXCLUDED(mutex_) {
    const MutexLock lock(&mutex_);
    passes_.push_back(std::move(pass));
  }

 private:
  Mutex mutex_;
  std::vector<std::unique_ptr<TransformerPass<T>>> passes_
      ABSL_GUARDED_BY(mutex_);
};

template <typename T>
AlignedBuffer<T> Zeros(int64_t count) {
  AlignedBuffer<T> buffer(count + Matrix<T>::kSlack);
  std::fill_n(buffer.get(), count + Matrix<T>::kSlack, T(0));
  return buffer;
}

// Number of leading sequences that go through the model together.
size_t GroupSize(absl::Span<const Example> sequences) {
  int64_t tokens = 0;
  size_t count = 0;
  for (const Example& sequence : sequences) {
    tokens += static_cast<int64_t>(sequence.tokens.size());
    if (tokens > kGroupTokens) break;
    ++count;
  }
  return std::max<size_t>(count, 1);
}

}  // namespace

double TrainerOptions::LearningRateAt(int64_t step) const {
  if (step < warmup_step_count) {
    return learning_rate * static_cast<double>(step + 1) /
           static_cast<double>(warmup_step_count);
  }
  const double decay_steps =
      static_cast<double>(step_count - warmup_step_count);
  const double progress =
      decay_steps <= 0
          ? 1
          : static_cast<double>(step - warmup_step_count) / decay_steps;
  return learning_rate * 0.5 * (1 + std::cos(kPi * std::min(progress, 1.0)));
}

// Scratch memory and gradient of one shard of a batch.
template <typename T>
struct Trainer<T>::Shard {
  explicit Shard(const TransformerShape& shape) : pass(shape) {}

  TransformerPass<T> pass;
  TransformerGradient<T> gradient;
  double loss = 0;
};

template <typename T>
absl::StatusOr<std::unique_ptr<Trainer<T>>> Trainer<T>::Create(
    const TransformerShape& shape, const ModelScheme& scheme,
    const TrainerOptions& options, int64_t train_length, uint64_t seed) {
  LOCUS_ASSIGN_OR_RETURN(
      auto positions,
      ModelPositions<T>::Create(
          scheme, shape, train_length,
          scheme.randomization ? scheme.randomization->maximum : 0));
  std::unique_ptr<Trainer> trainer(new Trainer(
      shape, scheme, options, train_length, seed, std::move(positions)));
  trainer->weights_.Initialize(seed);
  return trainer;
}

template <typename T>
Trainer<T>::Trainer(const TransformerShape& shape, const ModelScheme& scheme,
                    const TrainerOptions& options, int64_t train_length,
                    uint64_t seed, std::unique_ptr<ModelPositions<T>> positions)
    : scheme_(scheme),
      options_(options),
      train_length_(train_length),
      seed_(seed),
      weights_(shape, positions->parameter_count()),
      positions_(std::move(positions)),
      moment1_(Zeros<T>(weights_.layout().size())),
      moment2_(Zeros<T>(weights_.layout().size())) {
  for (int64_t n = 0; n < kShardCount; ++n) {
    shards_.push_back(std::make_unique<Shard>(shape));
    shards_.back()->gradient.parameters = Zeros<T>(weights_.layout().size());
  }
  const auto& own = weights_.layout().pieces()[weights_.layout().scheme];
  positions_->CopyParametersTo(weights_.parameters().data() + own.start);
}

template <typename T>
Trainer<T>::~Trainer() = default;

template <typename T>
void Trainer<T>::CopySchemeParameters(ModelPositions<T>* positions) const {
  positions->CopyParametersFrom(weights_.data(weights_.layout().scheme));
}

template <typename T>
std::vector<int64_t> Trainer<T>::RandomPositions(
    const Randomization& randomization, absl::string_view purpose,
    int64_t number, int64_t length) const {
  RandomStream stream(seed_,
                      absl::StrCat("evaluation.randomized.", purpose, "/",
                                   randomization.seed, "/", number));
  return DrawPositions(stream, randomization.maximum, length);
}

template <typename T>
absl::StatusOr<double> Trainer<T>::ComputeGradient(
    absl::Span<const Example> batch, ThreadPool& pool,
    const CancellationCheck& stop) {
  weights_.Pack(pool, /*for_backward=*/true);
  packed_ = true;
  if (scheme_.randomization) {
    positions_->SetPositions(RandomPositions(*scheme_.randomization, "training",
                                             step_, train_length_));
  }
  CopySchemeParameters(positions_.get());
  const int64_t target_count = TargetCount(batch);
  const double target_weight = 1.0 / static_cast<double>(target_count);
  const int64_t size = static_cast<int64_t>(batch.size());
  CancellationState cancellation(stop);
  pool.ParallelFor(kShardCount, [&](int64_t n) {
    Shard& shard = *shards_[n];
    shard.loss = 0;
    std::fill_n(shard.gradient.parameters.get(), weights_.layout().size(),
                T(0));
    positions_->Clear(&shard.gradient.positions);
    PeriodicCheck periodic_check(&cancellation);
    auto remaining =
        batch.subspan(n * size / kShardCount,
                      (n + 1) * size / kShardCount - n * size / kShardCount);
    while (!remaining.empty()) {
      if (cancellation.ShouldStop()) return;
      const size_t group = GroupSize(remaining);
      shard.loss += shard.pass.Backward(
          weights_, *positions_, remaining.subspan(0, group), target_weight,
          &shard.gradient, &periodic_check);
      remaining.remove_prefix(group);
    }
  });
  LOCUS_RETURN_IF_ERROR(cancellation.status());
  SumShards(pool);
  AddSchemeGradient();
  double loss = 0;
  for (const auto& shard : shards_) loss += shard->loss;
  return loss * target_weight;
}

template <typename T>
void Trainer<T>::SumShards(ThreadPool& pool) {
  const LayerOps<T>& ops = GetLayerOps<T>();
  const int64_t size = weights_.layout().size();
  TransformerGradient<T>& total = shards_[0]->gradient;
  pool.ParallelFor(
      (size + kParameterChunk - 1) / kParameterChunk, [&](int64_t chunk) {
        const int64_t start = chunk * kParameterChunk;
        const int64_t count = std::min(kParameterChunk, size - start);
        for (int64_t n = 1; n < kShardCount; ++n) {
          ops.Add(shards_[n]->gradient.parameters.get() + start,
                  total.parameters.get() + start, count);
        }
      });
  for (int64_t n = 1; n < kShardCount; ++n) {
    positions_->Sum(shards_[n]->gradient.positions, &total.positions);
  }
}

template <typename T>
void Trainer<T>::AddSchemeGradient() {
  const auto& own = weights_.layout().pieces()[weights_.layout().scheme];
  std::vector<double> gradient(own.size(), 0.0);
  TransformerGradient<T>& total = shards_[0]->gradient;
  positions_->Backward(total.positions, absl::MakeSpan(gradient));
  std::copy(gradient.begin(), gradient.end(),
            total.parameters.get() + own.start);
}

template <typename T>
absl::StatusOr<double> Trainer<T>::Gradient(absl::Span<const Example> batch,
                                            ThreadPool& pool,
                                            const CancellationCheck& stop,
                                            std::vector<double>* gradient) {
  LOCUS_ASSIGN_OR_RETURN(const double loss, ComputeGradient(batch, pool, stop));
  const T* const total = shards_[0]->gradient.parameters.get();
  gradient->assign(total, total + weights_.layout().size());
  return loss;
}

template <typename T>
absl::StatusOr<double> Trainer<T>::Step(absl::Span<const Example> batch,
                                        ThreadPool& pool,
                                        const CancellationCheck& stop) {
  LOCUS_ASSIGN_OR_RETURN(const double loss, ComputeGradient(batch, pool, stop));
  const LayerOps<T>& ops = GetLayerOps<T>();
  T* const gradient = shards_[0]->gradient.parameters.get();
  double squares = 0;
  for (int64_t start = 0; start < weights_.layout().size();
       start += kParameterChunk) {
    squares += ops.SumOfSquares(
        gradient + start,
        std::min(kParameterChunk, weights_.layout().size() - start));
  }
  const double norm = std::sqrt(squares);
  const int64_t step = step_++;
  // A gradient that is not finite does not change the parameters.
  if (!std::isfinite(norm)) return loss;

  const double rate = options_.LearningRateAt(step);
  const double t = static_cast<double>(step + 1);
  AdamWStep<T> adam;
  adam.learning_rate = static_cast<T>(rate);
  adam.bias_correction1 = static_cast<T>(1 / (1 - std::pow(kAdamBeta1, t)));
  adam.bias_correction2 = static_cast<T>(1 / (1 - std::pow(kAdamBeta2, t)));
  adam.clip_factor = static_cast<T>(
      norm > options_.clip_norm ? options_.clip_norm / norm : 1.0);
  const auto pieces = weights_.layout().pieces();
  pool.ParallelFor(static_cast<int64_t>(pieces.size()), [&](int64_t n) {
    const auto& piece = pieces[n];
    AdamWStep<T> piece_step = adam;
    piece_step.weight_decay =
        piece.decays ? static_cast<T>(rate * options_.weight_decay) : T(0);
    ops.AdamW(piece_step, gradient + piece.start, moment1_.get() + piece.start,
              moment2_.get() + piece.start,
              weights_.parameters().data() + piece.start, piece.size());
  });
  packed_ = false;
  return loss;
}

template <typename T>
absl::Status Trainer<T>::TestWithScheme(const ModelScheme& scheme,
                                        absl::Span<const Example> examples,
                                        ThreadPool& pool,
                                        const CancellationCheck& stop,
                                        const LogitsCallback& on_logits) {
  int64_t length = 1;
  for (const Example& e : examples) {
    length = std::max(length, static_cast<int64_t>(e.tokens.size()));
  }
  LOCUS_ASSIGN_OR_RETURN(
      const auto positions,
      ModelPositions<T>::Create(
          scheme, weights_.shape(), length,
          scheme.randomizes_tests ? scheme.randomization->maximum : 0));
  if (scheme.randomizes_tests) {
    positions->SetPositions(
        RandomPositions(*scheme.randomization, "test", length, length));
  }
  CopySchemeParameters(positions.get());
  if (!packed_) weights_.Pack(pool, /*for_backward=*/false);
  packed_ = true;

  IdlePasses<T> idle;
  CancellationState cancellation(stop);
  std::vector<std::vector<float>> logits(kBufferedExamples);
  for (size_t first = 0; first < examples.size(); first += kBufferedExamples) {
    const auto chunk = examples.subspan(first, kBufferedExamples);
    pool.ParallelFor(static_cast<int64_t>(chunk.size()), [&](int64_t n) {
      if (cancellation.ShouldStop()) return;
      std::unique_ptr<TransformerPass<T>> pass = idle.Take();
      if (pass == nullptr) {
        pass = std::make_unique<TransformerPass<T>>(weights_.shape());
      }
      PeriodicCheck periodic_check(&cancellation);
      const MatrixView<const T> rows =
          pass->Forward(weights_, *positions, chunk[n], &periodic_check);
      logits[n].resize(rows.rows * rows.columns);
      for (int64_t i = 0; i < rows.rows; ++i) {
        std::copy_n(rows.row(i), rows.columns,
                    logits[n].begin() + i * rows.columns);
      }
      idle.Return(std::move(pass));
    });
    LOCUS_RETURN_IF_ERROR(cancellation.status());
    for (size_t n = 0; n < chunk.size(); ++n) on_logits(chunk[n], logits[n]);
  }
  return absl::OkStatus();
}

template <typename T>
int64_t Trainer<T>::TrainingBytes(const TransformerShape& shape,
                                  int64_t train_length, int64_t scheme_size) {
  const int64_t parameters = TransformerLayout(shape, scheme_size).size() *
                             static_cast<int64_t>(sizeof(T));
  const int64_t per_shard = parameters + TransformerPass<T>::BackwardBytes(
                                             shape, train_length, kGroupTokens);
  // Parameters, two moments and two packed copies, rounded up for padding.
  return kShardCount * per_shard + 6 * parameters;
}

template <typename T>
int64_t Trainer<T>::TestBytes(const TransformerShape& shape, int64_t length,
                              int64_t target_count, int thread_count) {
  return thread_count *
             TransformerPass<T>::ForwardBytes(shape, length, target_count) +
         kBufferedExamples * target_count * shape.vocabulary_size *
             static_cast<int64_t>(sizeof(float));
}

template <typename T>
int64_t Trainer<T>::TableBytes(const TransformerShape& shape,
                               int64_t train_length, int64_t longest) {
  return kShardCount * PositionTables<T>::Bytes(shape, train_length) +
         PositionTables<T>::Bytes(shape, longest);
}

template <typename T>
int64_t Trainer<T>::PairwiseBytes(const TransformerShape& shape,
                                  int64_t train_length, int64_t longest) {
  return (kShardCount + 1) *
             PositionTables<T>::PairwiseBytes(shape, train_length) +
         PositionTables<T>::PairwiseBytes(shape, longest);
}

template class Trainer<float>;
template class Trainer<double>;

}  // namespace locus
