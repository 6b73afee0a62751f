// The manifest of an evaluation: its configuration and results.
//
// Reports are made from the manifest alone, so that they can be made again from
// the file.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "locus/v1/evaluation.pb.h"
#include "nlohmann/json.hpp"

namespace locus::client {

struct Manifest {
  // "pattern", or the name of a task.
  std::string experiment;
  std::string date;
  int64_t train_length = 0;
  // Everything except manifest_json. Manifests of earlier versions have no
  // verdict, effective lengths, spreads and training curves.
  v1::EvaluationSummary summary;
  // The complete document.
  nlohmann::ordered_json json;

  bool is_pattern() const { return experiment == "pattern"; }
};

// Parses the text of a manifest. INVALID_ARGUMENT names the missing or invalid
// field. Partial evaluations and patterns have no winner, whatever the text
// says.
absl::StatusOr<Manifest> ParseManifest(const std::string& text);

// Returns the schemes of all rows, in order of appearance.
std::vector<std::string> SchemesOf(const Manifest& manifest);
// Returns the evaluation lengths of all rows in increasing order.
std::vector<int64_t> LengthsOf(const Manifest& manifest);
// Returns the metrics of all rows, with the deciding metric first.
std::vector<std::string> MetricsOf(const Manifest& manifest);

// Returns the row of a scheme, length and metric, or null.
const v1::EvaluationRow* FindRow(const Manifest& manifest,
                                 const std::string& scheme, int64_t eval_length,
                                 const std::string& metric);
// Returns the gate of a scheme, or null.
const v1::EvaluationGate* FindGate(const Manifest& manifest,
                                   const std::string& scheme);

// Whether the 95 % interval of a row is better than chance. False with a single
// seed, which gives no interval, and for other metrics than the gate's.
bool BeatsChance(const v1::EvaluationRow& row, const v1::EvaluationGate& gate);

}  // namespace locus::client
