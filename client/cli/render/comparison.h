// The comparison of several schemes by `locus compare`, as text, JSON and a
// chart. All results are relative to the first scheme.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "client/cli/render/angle_verdict.h"
#include "client/cli/render/bias_facts.h"
#include "client/cli/render/explanation.h"
#include "client/cli/render/rotation_facts.h"
#include "client/plot/line_chart.h"
#include "nlohmann/json_fwd.hpp"

namespace locus::client {

// The attention weights of one sentence, [H, T, T] in row-major order.
struct AttentionWeights {
  int64_t head_count = 0;
  int64_t length = 0;
  std::vector<double> values;

  double At(int64_t head, int64_t query, int64_t key) const {
    return values[(head * length + query) * length + key];
  }
};

// The largest difference between the weights of two schemes, and where it is.
struct AttentionDifference {
  double largest = 0;
  double mean = 0;
  int64_t head = 0;
  int64_t query = 0;
  int64_t key = 0;
  // The weights at that place.
  double first = 0;
  double other = 0;
};

// Compares two attention maps of the same shape.
AttentionDifference CompareAttention(const AttentionWeights& first,
                                     const AttentionWeights& other);

// The mean weight of keys at each distance from 0 to T - 1, over all heads and
// queries. With `causal`, only keys up to the query count.
std::vector<double> WeightByDistance(const AttentionWeights& weights,
                                     bool causal);

// The wavelength of each pair divided by that of the first scheme. NaN for a
// pair that does not rotate in one of them. Empty if the numbers of pairs
// differ.
std::vector<double> WavelengthRatios(const RotationFacts& first,
                                     const RotationFacts& other);

// At most `limit` of the indices below `count`, evenly spaced, with the first
// and the last one. Requires limit >= 2.
std::vector<int64_t> SpacedIndices(int64_t count, int64_t limit);

// One of the compared schemes with its numbers.
struct ComparedScheme {
  std::string name;
  // The name of the kind, such as rope.
  std::string kind;
  // The scheme in protobuf text format.
  std::string text;
  // The width of a head or of the embeddings; 0 if it does not matter.
  int64_t dim = 0;
  // The sizes that come from a configuration, in words; empty if there are
  // none.
  std::string size_note;
  // Set for rotations and tables of sines and cosines.
  std::optional<RotationFacts> pairs;
  AngleVerdict angles;
  // Set for score biases, for distances from 0 on.
  std::optional<BiasByDistance> bias;
  BiasVerdict bias_verdict;
  // Set for learned tables.
  std::optional<TableFacts> table;
  // Unset if attention is not compared.
  std::optional<AttentionWeights> attention;
};

struct Comparison {
  std::vector<ComparedScheme> schemes;
  // The target length; 0 if unknown.
  double target_length = 0;
  // A sentence about layouts that come from a configuration; may be empty.
  std::string layout_note;
  // The sentence, and how attention was computed.
  std::vector<std::string> words;
  bool causal = false;
  // The scheme that made attention causal; empty if --causal did.
  std::string causal_kind;
  uint64_t seed = 0;
  // The reason why attention is not compared; empty if it is.
  std::string attention_note;
};

struct ComparisonTextOptions {
  // Shows all pairs and heads instead of a few.
  bool all = false;
  int width = 80;
};

std::string ComparisonText(const Comparison& comparison,
                           const ComparisonTextOptions& options);
nlohmann::ordered_json ComparisonJson(const Comparison& comparison);

// One line per scheme: wavelengths if all schemes have pairs, the bias averaged
// over heads if all are biases, and otherwise the attention weight by distance
// on the sentence. INVALID_ARGUMENT if attention is needed and not compared.
absl::StatusOr<plot::LineChart> ComparisonChart(const Comparison& comparison);

}  // namespace locus::client
