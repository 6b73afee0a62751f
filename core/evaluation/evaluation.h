// Extrapolation: what becomes of a scheme past the length it was made for.
//
// Two modes answer. Patterns look at one seeded attention layer, nothing
// trained. Trained mode trains a small transformer from scratch with every
// scheme and seed at one length and tests it at others; all schemes see the
// same data in the same order and start from the same weights where shapes
// agree.
//
//   EvaluationSettings settings = ...;
//   LOCUS_RETURN_IF_ERROR(FillDefaults(&settings));
//   schemes, made with SettingOf(settings)
//   auto job = EvaluationJob::Create(settings, schemes);
//   auto summary = job->Run(pool, stop, sink);
//
// Everything but the time it takes is the same to the bit for the same
// settings, whatever the number of threads.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "core/parallel/cancellation.h"
#include "core/base/tensor.h"
#include "core/parallel/thread_pool.h"
#include "core/encoding/scheme.h"

namespace locus {

struct PatternSettings {
  int64_t dim = 0;         // 0: 32
  int64_t head_count = 0;  // 0: 2
  bool causal = false;
  int64_t map_size = 0;  // 0: no maps
};

struct ModelSettings {
  int64_t dim = 0;               // 0: 64
  int64_t layer_count = 0;       // 0: 2
  int64_t head_count = 0;        // 0: 4
  int64_t feed_forward_dim = 0;  // 0: 4 dim
  std::optional<bool> causal;    // unset: as the task has it
};

struct TrainingSettings {
  int64_t step_count = 0;  // 0: as the task has it
  int64_t batch_size = 0;  // 0: 32
  std::optional<double> learning_rate;
  std::optional<int64_t> warmup_step_count;
  std::optional<double> weight_decay;
  std::optional<double> clip_norm;
};

struct TrainedSettings {
  // "ordering", "agreement", "text", "copy", "reverse", "recall" or
  // "retrofit".
  std::string task;
  // Of the tasks text and retrofit. Empty: the built-in one.
  std::string corpus;
  ModelSettings model;
  TrainingSettings training;
};

struct EvaluationSettings {
  std::variant<PatternSettings, TrainedSettings> mode;
  int64_t train_length = 0;           // 0: 32; patterns 64
  std::vector<int64_t> eval_lengths;  // empty: multiples of train_length
  uint64_t seed = 0;
  int64_t seed_count = 0;  // 0: 3; patterns 1
};

// Replaces what is unset by the defaults and checks everything. Field paths in
// errors are those of the contract's EvaluateExtrapolationRequest.
absl::Status FillDefaults(EvaluationSettings* settings);

// What a scheme has to suit, of settings whose defaults are filled.
TrainingSetting SettingOf(const EvaluationSettings& settings);

struct EvaluatedLayer {
  std::shared_ptr<const Scheme> scheme;
  int64_t window = 0;  // 0: none
  // What errors call it: `scheme.layers.others[0].scheme`, say.
  std::string field = "scheme";
};

struct EvaluatedScheme {
  // Unique in an evaluation.
  std::string name;
  std::shared_ptr<const Scheme> scheme;
  // What the layers of a trained model have in turn; empty: all the scheme.
  // Those that are the same object share what they learn.
  std::vector<EvaluatedLayer> layers = {};
  // Of trained models; see ModelScheme.
  std::optional<Randomization> randomization = std::nullopt;
  bool randomizes_tests = false;
};

struct EvaluationProgress {
  absl::string_view scheme_name;
  uint64_t seed = 0;
  int64_t step = 0;
  int64_t step_count = 0;
  double loss = 0;
  // Of the work of the whole evaluation, from 0 to 1.
  double done_share = 0;
};

struct EvaluationCell {
  std::string scheme_name;
  uint64_t seed = 0;
  int64_t eval_length = 0;
  std::map<std::string, double> metrics;
  // [H, rows, columns], if maps were asked for.
  std::optional<Tensor> attention_map;
};

// Hears of an evaluation while it runs, from one thread at a time: of every
// step, and of every cell.
class EvaluationSink {
 public:
  virtual ~EvaluationSink() = default;
  virtual void OnProgress(const EvaluationProgress& progress) = 0;
  virtual void OnCell(EvaluationCell cell) = 0;
};

// The messages of the same names in the contract.
struct EvaluationRow {
  std::string scheme_name;
  int64_t eval_length = 0;
  std::string metric;
  double mean = 0;
  double ci_low = 0;
  double ci_high = 0;
  int64_t count = 0;
};

struct EvaluationDifference {
  std::string scheme_name;
  std::string baseline_name;
  int64_t eval_length = 0;
  std::string metric;
  double mean = 0;
  double ci_low = 0;
  double ci_high = 0;
  int64_t count = 0;
};

struct EvaluationGate {
  std::string scheme_name;
  std::string metric;
  double threshold = 0;
  double learned_share = 0;
  bool passed = false;
};

struct EvaluationSummary {
  std::vector<EvaluationRow> rows;
  std::vector<EvaluationDifference> differences;
  std::vector<EvaluationGate> gates;
  std::string winner;
  std::string reason;
  bool partial = false;
};

// An evaluation that is checked and sized, but has allocated nothing large.
class EvaluationJob {
 public:
  // `settings` have their defaults filled. Errors in scheme n are within
  // `schemes[n]`, such as `schemes[2].rope.rotary_dim`.
  static absl::StatusOr<EvaluationJob> Create(
      EvaluationSettings settings, std::vector<EvaluatedScheme> schemes);
  EvaluationJob(EvaluationJob&&) noexcept;
  EvaluationJob& operator=(EvaluationJob&&) noexcept;
  ~EvaluationJob();

  // The work, in multiplications and additions.
  double flops() const;
  // What would fit into so many, as advice to the caller: "a step_count of 120
  // would fit", say.
  std::string WhatFits(double max_flops) const;
  // What Run needs on so many threads, in bytes.
  int64_t scratch_bytes(int thread_count) const;

  // Runs and tells `sink`. Where `stop` says DEADLINE_EXCEEDED, the summary of
  // what is finished comes back, marked as partial; any other answer of `stop`
  // is returned as it is. `stop` is asked every few milliseconds.
  absl::StatusOr<EvaluationSummary> Run(ThreadPool& pool, const StopCheck& stop,
                                        EvaluationSink& sink) const;

  // Whether one model is trained for each seed and tested with all schemes, so
  // that the schemes of a seed cannot be run apart.
  bool trains_once() const;
  // What Run makes of its cells, for cells that other jobs ran: seeds
  // outermost, then schemes, then lengths, as Run has them. The caller says
  // whether any are missing.
  EvaluationSummary Summarize(absl::Span<const EvaluationCell> cells) const;

 private:
  struct Plan;
  explicit EvaluationJob(std::unique_ptr<Plan> plan);

  std::unique_ptr<Plan> plan_;
};

}  // namespace locus
