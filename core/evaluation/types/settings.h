// Settings of an evaluation: mode, model, training, lengths, seeds, and the
// schemes to compare.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "core/encoding/randomize.h"
#include "core/encoding/scheme.h"

namespace locus {

// The value 0 of a number, and an unset optional, mean the default, which
// FillDefaults() sets.
struct PatternSettings {
  int64_t dim = 0;         // default 32
  int64_t head_count = 0;  // default 2
  bool causal = false;
  int64_t map_size = 0;  // 0 means no maps
};

struct ModelSettings {
  int64_t dim = 0;               // default 64
  int64_t layer_count = 0;       // default 2
  int64_t head_count = 0;        // default 4
  int64_t feed_forward_dim = 0;  // default 4 times dim
  std::optional<bool> causal;    // default: chosen by the task
};

struct TrainingSettings {
  int64_t step_count = 0;  // default: chosen by the task
  int64_t batch_size = 0;  // default 32
  std::optional<double> learning_rate;
  std::optional<int64_t> warmup_step_count;
  std::optional<double> weight_decay;
  std::optional<double> clip_norm;
};

struct TrainedSettings {
  // "ordering", "agreement", "text", "copy", "reverse", "recall" or
  // "retrofit".
  std::string task;
  // Text of the tasks `text` and `retrofit`. Empty means the built-in corpus.
  std::string corpus;
  // Sequences of the task `ordering` about which to ask the trained models.
  std::vector<std::vector<int64_t>> questions;
  ModelSettings model;
  TrainingSettings training;
};

struct EvaluationSettings {
  std::variant<PatternSettings, TrainedSettings> mode;
  int64_t train_length = 0;           // default: by task; in pattern mode 64
  std::vector<int64_t> eval_lengths;  // default: multiples of train_length
  uint64_t seed = 0;
  int64_t seed_count = 0;  // default 3; in pattern mode 1
};

// Replaces unset values by their defaults and validates all settings. Field
// paths in errors are those of EvaluateExtrapolationRequest.
absl::Status FillDefaults(EvaluationSettings* settings);

// Training length and causality, from which schemes derive defaults of their
// parameters. Requires settings with defaults filled.
TrainingSetting TrainingSettingOf(const EvaluationSettings& settings);

struct EvaluatedLayer {
  std::shared_ptr<const Scheme> scheme;
  int64_t window = 0;  // 0 means no window
  // Field path in errors, such as `scheme.layers.others[0].scheme`.
  std::string field = "scheme";
};

struct EvaluatedScheme {
  // Unique within an evaluation.
  std::string name;
  std::shared_ptr<const Scheme> scheme;
  // Layer n of a trained model uses entry n, modulo the number of entries. If
  // empty, all layers use `scheme`. Entries with the same Scheme object share
  // its learned parameters.
  std::vector<EvaluatedLayer> layers = {};
  // Random positions of trained models; see ModelScheme.
  std::optional<Randomization> randomization = std::nullopt;
  bool randomizes_tests = false;
};

}  // namespace locus
