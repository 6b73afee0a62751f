// What an evaluation found, as its manifest has it.
//
// Reports are made of the manifest alone, so that they can be drawn again, by
// anyone, from the file.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "locus/v1/evaluation.pb.h"
#include "nlohmann/json.hpp"

namespace locus::client {

struct Manifest {
  // "pattern", or the name of the task.
  std::string experiment;
  std::string date;
  int64_t train_length = 0;
  // Rows, differences, gates, winner, reason and partial.
  v1::EvaluationSummary summary;
  // All of it.
  nlohmann::ordered_json json;

  bool is_pattern() const { return experiment == "pattern"; }
};

// INVALID_ARGUMENT says what is missing.
absl::StatusOr<Manifest> ParseManifest(const std::string& text);

// Of all rows, in their order.
std::vector<std::string> SchemesOf(const Manifest& manifest);
std::vector<int64_t> LengthsOf(const Manifest& manifest);  // ascending
// The one that decides first.
std::vector<std::string> MetricsOf(const Manifest& manifest);

// Null if there is none.
const v1::EvaluationRow* FindRow(const Manifest& manifest,
                                 const std::string& scheme, int64_t eval_length,
                                 const std::string& metric);
const v1::EvaluationGate* FindGate(const Manifest& manifest,
                                   const std::string& scheme);

}  // namespace locus::client
