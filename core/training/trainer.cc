#include "core/training/trainer.h"

#include <algorithm>
#include <cmath>
#include <mutex>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/random.h"
#include "core/base/status.h"
#include "core/parallel/stopper.h"
#include "core/training/layer_ops.h"

namespace locus {
namespace {

constexpr double kPi = 3.14159265358979323846;

// A batch is split into so many shares, whatever the number of threads.
constexpr int64_t kShares = 8;
// Sequences go through the model together while they have so many tokens at
// most, longer ones alone: enough to keep products busy, few enough to stay in
// a cache.
constexpr int64_t kGroupTokens = 64;
// Answers to a test that are held until it is their turn.
constexpr int64_t kHeld = 32;
// Parameters that are summed and moved together.
constexpr int64_t kChunk = 8192;

template <typename T>
AlignedBuffer<T> Zeros(int64_t count) {
  AlignedBuffer<T> buffer(count + Matrix<T>::kSlack);
  std::fill_n(buffer.get(), count + Matrix<T>::kSlack, T(0));
  return buffer;
}

int64_t TargetCount(absl::Span<const Example> batch) {
  int64_t count = 0;
  for (const Example& e : batch) {
    count += static_cast<int64_t>(e.targets.size());
  }
  return count;
}

// How many of the sequences go first.
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

double TrainerOptions::RateAt(int64_t step) const {
  if (step < warmup_step_count) {
    return learning_rate * static_cast<double>(step + 1) /
           static_cast<double>(warmup_step_count);
  }
  const double rest = static_cast<double>(step_count - warmup_step_count);
  const double share =
      rest <= 0 ? 1 : static_cast<double>(step - warmup_step_count) / rest;
  return learning_rate * 0.5 * (1 + std::cos(kPi * std::min(share, 1.0)));
}

// What one share of a batch works with.
template <typename T>
struct Trainer<T>::Share {
  explicit Share(const TransformerShape& shape) : pass(shape) {}

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
  for (int64_t n = 0; n < kShares; ++n) {
    shares_.push_back(std::make_unique<Share>(shape));
    shares_.back()->gradient.parameters = Zeros<T>(weights_.layout().size());
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
std::vector<int64_t> Trainer<T>::DrawnPositions(
    const Randomization& randomization, absl::string_view purpose,
    int64_t number, int64_t length) const {
  RandomStream stream(seed_,
                      absl::StrCat("evaluation.randomized.", purpose, "/",
                                   randomization.seed, "/", number));
  return DrawPositions(stream, randomization.maximum, length);
}

template <typename T>
absl::StatusOr<double> Trainer<T>::ComputeGradient(
    absl::Span<const Example> batch, ThreadPool& pool, const StopCheck& stop) {
  weights_.Pack(pool, /*for_backward=*/true);
  packed_ = true;
  if (scheme_.randomization) {
    positions_->Place(DrawnPositions(*scheme_.randomization, "training", step_,
                                     train_length_));
  }
  CopySchemeParameters(positions_.get());
  const int64_t target_count = TargetCount(batch);
  const double target_weight = 1.0 / static_cast<double>(target_count);
  const int64_t size = static_cast<int64_t>(batch.size());
  Stopper stopper(stop);
  pool.ParallelFor(kShares, [&](int64_t n) {
    Share& share = *shares_[n];
    share.loss = 0;
    std::fill_n(share.gradient.parameters.get(), weights_.layout().size(),
                T(0));
    positions_->Clear(&share.gradient.positions);
    Interruption interruption(&stopper);
    auto left = batch.subspan(n * size / kShares,
                              (n + 1) * size / kShares - n * size / kShares);
    while (!left.empty()) {
      if (stopper.ShouldStop()) return;
      const size_t group = GroupSize(left);
      share.loss +=
          share.pass.Backward(weights_, *positions_, left.subspan(0, group),
                              target_weight, &share.gradient, &interruption);
      left.remove_prefix(group);
    }
  });
  LOCUS_RETURN_IF_ERROR(stopper.status());
  SumShares(pool);
  AddSchemeGradient();
  double loss = 0;
  for (const auto& share : shares_) loss += share->loss;
  return loss * target_weight;
}

// All into the first.
template <typename T>
void Trainer<T>::SumShares(ThreadPool& pool) {
  const Rows<T>& rows = RowFunctions<T>();
  const int64_t size = weights_.layout().size();
  TransformerGradient<T>& total = shares_[0]->gradient;
  pool.ParallelFor((size + kChunk - 1) / kChunk, [&](int64_t chunk) {
    const int64_t start = chunk * kChunk;
    const int64_t count = std::min(kChunk, size - start);
    for (int64_t n = 1; n < kShares; ++n) {
      rows.Add(shares_[n]->gradient.parameters.get() + start,
               total.parameters.get() + start, count);
    }
  });
  for (int64_t n = 1; n < kShares; ++n) {
    positions_->Sum(shares_[n]->gradient.positions, &total.positions);
  }
}

template <typename T>
void Trainer<T>::AddSchemeGradient() {
  const auto& own = weights_.layout().pieces()[weights_.layout().scheme];
  std::vector<double> gradient(own.size(), 0.0);
  TransformerGradient<T>& total = shares_[0]->gradient;
  positions_->Backward(total.positions, absl::MakeSpan(gradient));
  std::copy(gradient.begin(), gradient.end(),
            total.parameters.get() + own.start);
}

template <typename T>
absl::StatusOr<double> Trainer<T>::Gradient(absl::Span<const Example> batch,
                                            ThreadPool& pool,
                                            const StopCheck& stop,
                                            std::vector<double>* gradient) {
  LOCUS_ASSIGN_OR_RETURN(const double loss, ComputeGradient(batch, pool, stop));
  const T* const total = shares_[0]->gradient.parameters.get();
  gradient->assign(total, total + weights_.layout().size());
  return loss;
}

template <typename T>
absl::StatusOr<double> Trainer<T>::Step(absl::Span<const Example> batch,
                                        ThreadPool& pool,
                                        const StopCheck& stop) {
  LOCUS_ASSIGN_OR_RETURN(const double loss, ComputeGradient(batch, pool, stop));
  const Rows<T>& rows = RowFunctions<T>();
  T* const gradient = shares_[0]->gradient.parameters.get();
  double squares = 0;
  for (int64_t start = 0; start < weights_.layout().size(); start += kChunk) {
    squares += rows.SquareSum(
        gradient + start, std::min(kChunk, weights_.layout().size() - start));
  }
  const double norm = std::sqrt(squares);
  const int64_t step = step_++;
  // A gradient that is not a number moves nothing.
  if (!std::isfinite(norm)) return loss;

  const double rate = options_.RateAt(step);
  const double t = static_cast<double>(step + 1);
  AdamStep<T> adam;
  adam.rate = static_cast<T>(rate);
  adam.correction1 = static_cast<T>(1 / (1 - std::pow(kAdamBeta1, t)));
  adam.correction2 = static_cast<T>(1 / (1 - std::pow(kAdamBeta2, t)));
  adam.gradient_factor = static_cast<T>(
      norm > options_.clip_norm ? options_.clip_norm / norm : 1.0);
  const auto pieces = weights_.layout().pieces();
  pool.ParallelFor(static_cast<int64_t>(pieces.size()), [&](int64_t n) {
    const auto& piece = pieces[n];
    AdamStep<T> own = adam;
    own.decay =
        piece.decays ? static_cast<T>(rate * options_.weight_decay) : T(0);
    rows.Adam(own, gradient + piece.start, moment1_.get() + piece.start,
              moment2_.get() + piece.start,
              weights_.parameters().data() + piece.start, piece.size());
  });
  packed_ = false;
  return loss;
}

template <typename T>
absl::Status Trainer<T>::TestAs(const ModelScheme& scheme,
                                absl::Span<const Example> examples,
                                ThreadPool& pool, const StopCheck& stop,
                                const Answer& answer) {
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
    positions->Place(
        DrawnPositions(*scheme.randomization, "test", length, length));
  }
  CopySchemeParameters(positions.get());
  if (!packed_) weights_.Pack(pool, /*for_backward=*/false);
  packed_ = true;

  // As many passes as there are threads at work.
  std::mutex mutex;
  std::vector<std::unique_ptr<TransformerPass<T>>> idle;
  Stopper stopper(stop);
  std::vector<std::vector<float>> logits(kHeld);
  for (size_t first = 0; first < examples.size(); first += kHeld) {
    const auto some = examples.subspan(first, kHeld);
    pool.ParallelFor(static_cast<int64_t>(some.size()), [&](int64_t n) {
      if (stopper.ShouldStop()) return;
      std::unique_ptr<TransformerPass<T>> pass;
      {
        const std::lock_guard lock(mutex);
        if (!idle.empty()) {
          pass = std::move(idle.back());
          idle.pop_back();
        }
      }
      if (pass == nullptr) {
        pass = std::make_unique<TransformerPass<T>>(weights_.shape());
      }
      Interruption interruption(&stopper);
      const MatrixView<const T> rows =
          pass->Forward(weights_, *positions, some[n], &interruption);
      logits[n].resize(rows.rows * rows.columns);
      for (int64_t i = 0; i < rows.rows; ++i) {
        std::copy_n(rows.row(i), rows.columns,
                    logits[n].begin() + i * rows.columns);
      }
      const std::lock_guard lock(mutex);
      idle.push_back(std::move(pass));
    });
    LOCUS_RETURN_IF_ERROR(stopper.status());
    for (size_t n = 0; n < some.size(); ++n) answer(some[n], logits[n]);
  }
  return absl::OkStatus();
}

template <typename T>
int64_t Trainer<T>::TrainingBytes(const TransformerShape& shape,
                                  int64_t train_length, int64_t scheme_size) {
  const int64_t parameters = TransformerLayout(shape, scheme_size).size() *
                             static_cast<int64_t>(sizeof(T));
  const int64_t share = parameters + TransformerPass<T>::BackwardBytes(
                                         shape, train_length, kGroupTokens);
  // Parameters, two moments, and two packed copies.
  return kShares * share + 6 * parameters;
}

template <typename T>
int64_t Trainer<T>::TestBytes(const TransformerShape& shape, int64_t length,
                              int64_t target_count, int thread_count) {
  return thread_count *
             TransformerPass<T>::ForwardBytes(shape, length, target_count) +
         kHeld * target_count * shape.vocabulary_size *
             static_cast<int64_t>(sizeof(float));
}

template <typename T>
int64_t Trainer<T>::TableBytes(const TransformerShape& shape,
                               int64_t train_length, int64_t longest) {
  return kShares * PositionTables<T>::Bytes(shape, train_length) +
         PositionTables<T>::Bytes(shape, longest);
}

template <typename T>
int64_t Trainer<T>::PairwiseBytes(const TransformerShape& shape,
                                  int64_t train_length, int64_t longest) {
  return (kShares + 1) * PositionTables<T>::PairwiseBytes(shape, train_length) +
         PositionTables<T>::PairwiseBytes(shape, longest);
}

template class Trainer<float>;
template class Trainer<double>;

}  // namespace locus
