// Converts the flags of `locus evaluate` into a request.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "client/cli/support/cli_errors.h"
#include "locus/v1/evaluation.pb.h"

namespace locus::client {

// The flags of `locus evaluate`. Flags that are not set select the defaults of
// the server.
struct EvaluationFlags {
  // Empty, together with `hf_configs`: the default schemes of the server.
  std::vector<std::string> schemes;
  std::vector<std::string> hf_configs;
  // The name of a task. Empty: text, unless `pattern` is set.
  std::string task;
  bool pattern = false;

  std::optional<int64_t> train_length;
  std::vector<int64_t> eval_lengths;
  std::optional<uint64_t> seed;
  std::optional<int64_t> seed_count;

  std::optional<int64_t> dim;
  std::optional<int64_t> layer_count;
  std::optional<int64_t> head_count;
  std::optional<int64_t> feed_forward_dim;
  bool causal = false;
  bool bidirectional = false;

  std::optional<int64_t> step_count;
  std::optional<int64_t> batch_size;
  std::optional<double> learning_rate;
  // Path of a text file.
  std::string corpus;
  // Sequences of the task `ordering` to ask about, such as "3,1,4,2".
  std::vector<std::string> questions;
};

// The names of all tasks, in the order of the proto.
const std::vector<std::string>& EvaluationTasks();

// Returns a usage error if flags conflict or a file cannot be read.
absl::StatusOr<v1::EvaluateExtrapolationRequest> MakeEvaluationRequest(
    const EvaluationFlags& flags);

// The flags that set the fields of the request.
FlagHints EvaluationHints();

}  // namespace locus::client
