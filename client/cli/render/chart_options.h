// Settings and messages that the charts of schemes share.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "client/plot/heatmap.h"
#include "locus/v1/encoding.pb.h"

namespace locus::client {

// Settings of a chart of one scheme.
struct ChartOptions {
  // Empty: a title derived from the scheme.
  std::string title;
  // The scheme in messages, such as "rope".
  std::string scheme_name;
  // The scheme in titles, such as "rope, yarn ×4 of 2048"; empty uses the name.
  std::string scheme_title = "";
  // Sizes and parameters below the title, such as "dim 64 · base 10000".
  std::string details = "";
  v1::Positions positions = {};
  // The requested width of the embeddings or of one head.
  int64_t dim = 0;
  // The rows and columns of a heatmap that are drawn; all if unset.
  std::optional<plot::IndexRange> rows = std::nullopt;
  std::optional<plot::IndexRange> columns = std::nullopt;
  // Hides the biases of keys after the query.
  bool causal = false;
  // The lengths of training and use, for schemes that do not know them; 0 if
  // unknown.
  double trained_length = 0;
  double target_length = 0;
};

// A scheme of a chart that shows several, and its numbers.
struct ChartScheme {
  ChartOptions options;
  v1::EncodeResponse response;
};

// Returns the scheme as it is called in titles.
const std::string& TitleOfScheme(const ChartOptions& options);

// Returns the title that the user gave, or `title`.
std::string TitleOr(const ChartOptions& options, absl::string_view title);

// Returns the details of the scheme, the positions, and an explanation in a
// line of its own. Any of them may be empty.
std::string NoteWith(const ChartOptions& options,
                     absl::string_view explanation);

// Returns the ids of the positions.
std::vector<int64_t> IdsOf(const v1::Positions& positions);

// Returns the ids as ticks of an x axis in increasing order if they are few,
// and nothing otherwise: the axis then chooses round numbers.
std::vector<double> IdTicks(const v1::Positions& positions);

// Returns a usage error if a chart would have too many rows or columns.
absl::Status CheckSide(int64_t count);

// Returns the rows and columns of the heatmap that the options select. Returns
// a usage error if they are not within the heatmap.
absl::StatusOr<plot::Heatmap> SelectedPart(const ChartOptions& options,
                                           const plot::Heatmap& heatmap);

// The error for a chart that does not apply: "rope has no score bias; try
// similarity, waveforms or attention". `missing` is the data that the chart
// needs.
absl::Status NotApplicable(const ChartOptions& options,
                           const v1::EncodeResponse& response,
                           absl::string_view missing);

}  // namespace locus::client
