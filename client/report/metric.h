// What is known of the metrics of evaluations, by name.
#pragma once

#include <optional>
#include <string>

#include "absl/strings/string_view.h"

namespace locus::client {

enum class Better { kNeither, kMore, kLess };

struct Metric {
  // For headings; the name itself if the metric is not known here.
  std::string title;
  // For an axis.
  std::string unit;
  Better better = Better::kNeither;
  // Always between 0 and 1, shown over all of that.
  bool is_share = false;
  // What guessing yields.
  std::optional<double> chance = std::nullopt;
  // Metrics of small rank are shown first.
  int rank = 100;
  // In a sentence: what it tells.
  std::string meaning = "";
};

Metric MetricOf(absl::string_view name);

// A part of the positions, of the metrics nll_bucket_BEGIN_END.
struct Bucket {
  double begin = 0;
  double end = 0;
};
std::optional<Bucket> BucketOf(absl::string_view metric);

}  // namespace locus::client
