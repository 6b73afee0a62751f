// What `locus evaluate` asks for: flags turned into a request.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "client/cli/support/cli_errors.h"
#include "locus/v1/evaluation.pb.h"

namespace locus::client {

struct EvaluationFlags {
  // Empty: all of them.
  std::vector<std::string> schemes;
  std::vector<std::string> hf_configs;
  // Empty: text, unless `pattern`.
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
  // A file.
  std::string corpus;
};

const std::vector<std::string>& EvaluationTasks();

// A usage error if flags do not go together or a file cannot be read.
absl::StatusOr<v1::EvaluateExtrapolationRequest> MakeEvaluationRequest(
    const EvaluationFlags& flags);

FlagHints EvaluationHints();

}  // namespace locus::client
