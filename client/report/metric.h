// Titles, units and meanings of the metrics of evaluations.
#pragma once

#include <optional>
#include <string>

#include "absl/strings/string_view.h"

namespace locus::client {

// Direction in which a metric is better.
enum class Better { kNeither, kMore, kLess };

struct Metric {
  // Title for headings; the name itself for an unknown metric.
  std::string title;
  // Unit for the label of an axis.
  std::string unit;
  Better better = Better::kNeither;
  // Values are between 0 and 1, and the axis shows this whole range.
  bool is_share = false;
  // Value of random guessing.
  std::optional<double> chance = std::nullopt;
  // Order of metrics in reports; lower ranks come first.
  int rank = 100;
  // Explanation in one sentence.
  std::string meaning = "";
};

// Returns the description of a metric.
Metric MetricOf(absl::string_view name);

// A range of positions, as in the metrics nll_bucket_BEGIN_END.
struct Bucket {
  double begin = 0;
  double end = 0;
};
// Returns the range of a bucket metric; nullopt for other metrics.
std::optional<Bucket> BucketOf(absl::string_view metric);

}  // namespace locus::client
