#include "client/cli/render/encoding_charts.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>

#include "absl/strings/str_cat.h"
#include "client/base/status_macros.h"
#include "client/cli/render/position_codes.h"
#include "client/cli/requests/positions.h"
#include "client/cli/support/cli_errors.h"
#include "client/plot/heatmap.h"
#include "client/plot/line_chart.h"
#include "locus/client/tensor.h"

namespace locus::client {
namespace {

// Maximum number of rows and of columns of a heatmap. Larger charts are neither
// readable nor small.
constexpr int64_t kMaxSide = 2048;

// The charts that the scheme of `response` has, for an error message.
std::string ApplicableCharts(const v1::EncodeResponse& response) {
  switch (response.encoding_case()) {
    case v1::EncodeResponse::kAdditive:
      return "heatmap, similarity, waveforms or attention";
    case v1::EncodeResponse::kRotation:
      return "similarity, waveforms or attention";
    case v1::EncodeResponse::kBias:
      return "bias or attention";
    case v1::EncodeResponse::ENCODING_NOT_SET:
      break;
  }
  return "attention";
}

// The error for a chart that does not apply: "rope has no score bias; try
// similarity, waveforms or attention". `missing` is the data that the chart
// needs.
absl::Status NotApplicable(const ChartOptions& options,
                           const v1::EncodeResponse& response,
                           absl::string_view missing) {
  return UsageError(absl::StrCat(options.scheme_name, " has no ", missing,
                                 "; try ", ApplicableCharts(response)));
}

std::string TitleOr(const ChartOptions& options, absl::string_view title) {
  return options.title.empty() ? std::string(title) : options.title;
}

plot::Interval Ends(const v1::Positions& positions) {
  const int64_t count = PositionCount(positions);
  if (count == 0) return {};
  return {static_cast<double>(PositionAt(positions, 0)),
          static_cast<double>(PositionAt(positions, count - 1))};
}

plot::Interval Indices(int64_t count) {
  return {0, static_cast<double>(count - 1)};
}

// The interval of an axis: positions if they are a range, otherwise indices.
plot::Interval PositionEnds(const v1::Positions& positions) {
  return positions.has_range() ? Ends(positions)
                               : Indices(PositionCount(positions));
}

absl::Status CheckSide(int64_t count) {
  if (count <= kMaxSide) return absl::OkStatus();
  return UsageError(
      absl::StrCat("--positions: ", count,
                   " are too many for this chart; the maximum is ", kMaxSide));
}

// Chooses up to `wanted` distinct channels out of `count`, including the first
// and the last. The spacing grows quadratically, because the first channels
// oscillate fastest and differ most.
std::vector<int64_t> ChooseChannels(int64_t count, int64_t wanted) {
  std::vector<int64_t> chosen;
  for (int64_t i = 0; i < std::min(count, wanted); ++i) {
    const int64_t steps = (wanted - 1) * (wanted - 1);
    chosen.push_back(
        count <= wanted ? i : std::max(i, i * i * (count - 1) / steps));
  }
  return chosen;
}

absl::Status CheckChannels(const std::vector<int64_t>& channels,
                           int64_t count) {
  for (const int64_t channel : channels) {
    if (channel < 0 || channel >= count) {
      return UsageError(absl::StrCat("--channels: ", channel,
                                     " is out of range; must be from 0 to ",
                                     count - 1));
    }
  }
  if (channels.size() > plot::kSeriesCount) {
    return UsageError(absl::StrCat("--channels: ", channels.size(),
                                   " are too many; the maximum is ",
                                   plot::kSeriesCount));
  }
  return absl::OkStatus();
}

plot::Curve WaveOf(const ChartOptions& options, const Codes& codes,
                   int64_t channel, std::string name, int series) {
  plot::Curve curve{.name = std::move(name), .series = series};
  for (int64_t i = 0; i < codes.count; ++i) {
    const double y = codes.values[i * codes.width + channel];
    curve.points.push_back(
        {static_cast<double>(PositionAt(options.positions, i)), y, y, y});
  }
  std::stable_sort(curve.points.begin(), curve.points.end(),
                   [](const auto& a, const auto& b) { return a.x < b.x; });
  return curve;
}

// One panel per head. `values` has the shape [heads, rows, columns].
std::vector<plot::Heatmap> HeadPanels(const std::vector<double>& values,
                                      int64_t heads, int64_t rows,
                                      int64_t columns) {
  std::vector<plot::Heatmap> panels;
  for (int64_t head = 0; head < heads; ++head) {
    const auto begin = values.begin() + head * rows * columns;
    panels.push_back({.title = heads > 1 ? absl::StrCat("head ", head) : "",
                      .rows = rows,
                      .columns = columns,
                      .values = {begin, begin + rows * columns},
                      .row_ends = Indices(rows),
                      .column_ends = Indices(columns)});
  }
  return panels;
}

// Whether a key is visible to a query under the causal mask and the window.
// Queries and keys of words have the same positions.
bool IsVisible(const v1::AttentionOptions& attention, int64_t query,
               int64_t key) {
  if (attention.causal() && key > query) return false;
  return attention.window() == 0 || std::abs(query - key) < attention.window();
}

int PanelsPerRow(int64_t count) {
  return static_cast<int>(count <= 3 ? count : count % 3 == 0 ? 3 : 4);
}

}  // namespace

absl::StatusOr<plot::Scene> HeatmapChart(const ChartOptions& options,
                                         const v1::EncodeResponse& response) {
  if (!response.has_additive()) {
    return NotApplicable(options, response, "table of position codes");
  }
  CLIENT_ASSIGN_OR_RETURN(const Codes codes,
                          TableCodes(response.additive().table()));
  return plot::DrawHeatmaps(
      {.title = TitleOr(
           options, absl::StrCat("Position codes of ", options.scheme_name)),
       .description = absl::StrCat("Values of ", codes.width, " channels at ",
                                   codes.count, " positions."),
       .panels = {{.rows = codes.count,
                   .columns = codes.width,
                   .values = codes.values,
                   .row_ends = PositionEnds(options.positions),
                   .column_ends = Indices(codes.width)}},
       .map = plot::ColorMap::kDiverging,
       .value_label = "value",
       .row_label = "position",
       .column_label = "channel"});
}

absl::StatusOr<plot::Scene> SimilarityChart(
    const ChartOptions& options, const v1::EncodeResponse& response) {
  Codes codes;
  std::string note = "The cosine between the codes of two positions.";
  if (response.has_additive()) {
    CLIENT_ASSIGN_OR_RETURN(codes, TableCodes(response.additive().table()));
  } else if (response.has_rotation()) {
    CLIENT_ASSIGN_OR_RETURN(codes,
                            RotatedOnes(response.rotation(), options.dim));
    note =
        "The cosine between a vector of ones rotated for one position and for "
        "another.";
  } else {
    return NotApplicable(options, response, "position codes");
  }
  CLIENT_RETURN_IF_ERROR(CheckSide(codes.count));
  const plot::Interval ends = PositionEnds(options.positions);
  return plot::DrawHeatmaps(
      {.title = TitleOr(options, absl::StrCat("Similarity of positions: ",
                                              options.scheme_name)),
       .note = note,
       .description = note,
       .panels = {{.rows = codes.count,
                   .columns = codes.count,
                   .values = Cosines(codes),
                   .row_ends = ends,
                   .column_ends = ends}},
       .value_label = "cosine",
       .row_label = "position",
       .column_label = "position"});
}

absl::StatusOr<plot::Scene> WaveformChart(
    const ChartOptions& options, const v1::EncodeResponse& response,
    const std::vector<int64_t>& channels) {
  plot::LineChart chart{.x_label = "position", .markers = false};
  std::vector<int64_t> chosen = channels;
  if (response.has_additive()) {
    CLIENT_ASSIGN_OR_RETURN(const Codes codes,
                            TableCodes(response.additive().table()));
    if (chosen.empty()) chosen = ChooseChannels(codes.width, 6);
    CLIENT_RETURN_IF_ERROR(CheckChannels(chosen, codes.width));
    for (const int64_t channel : chosen) {
      chart.curves.push_back(WaveOf(options, codes, channel,
                                    absl::StrCat("channel ", channel),
                                    static_cast<int>(chart.curves.size())));
    }
    chart.y_label = "value";
  } else if (response.has_rotation()) {
    CLIENT_ASSIGN_OR_RETURN(const Codes cos,
                            TableCodes(response.rotation().cos()));
    CLIENT_ASSIGN_OR_RETURN(const Codes sin,
                            TableCodes(response.rotation().sin()));
    if (chosen.empty()) chosen = ChooseChannels(cos.width, 3);
    CLIENT_RETURN_IF_ERROR(CheckChannels(chosen, cos.width));
    for (const int64_t pair : chosen) {
      for (const bool is_cos : {true, false}) {
        chart.curves.push_back(
            WaveOf(options, is_cos ? cos : sin, pair,
                   absl::StrCat(is_cos ? "cos" : "sin", ", pair ", pair),
                   static_cast<int>(chart.curves.size())));
      }
    }
    chart.y_label = "cosine and sine of the angle";
  } else {
    return NotApplicable(options, response, "position codes");
  }
  chart.title =
      TitleOr(options, absl::StrCat("Waveforms of ", options.scheme_name));
  chart.description = absl::StrCat(chart.curves.size(),
                                   " channels over the positions, from fast "
                                   "to slow.");
  return plot::DrawLineChart(chart);
}

absl::StatusOr<plot::Scene> BiasChart(const ChartOptions& options,
                                      const v1::EncodeResponse& response) {
  if (!response.has_bias()) {
    return NotApplicable(options, response, "score bias");
  }
  const v1::Tensor& bias = response.bias().bias();
  CLIENT_ASSIGN_OR_RETURN(const std::vector<double> values, ToDoubles(bias));
  if (bias.shape_size() != 3) {
    return absl::InternalError(absl::StrCat(
        "the bias sent by the server has shape ", ShapeName(bias)));
  }
  CLIENT_RETURN_IF_ERROR(CheckSide(std::max(bias.shape(1), bias.shape(2))));
  const bool has_masked_keys = std::any_of(
      values.begin(), values.end(), [](double x) { return !std::isfinite(x); });
  return plot::DrawHeatmaps(
      {.title = TitleOr(options,
                        absl::StrCat("Score bias of ", options.scheme_name)),
       .note = has_masked_keys ? "Grey: masked keys." : "",
       .description = absl::StrCat("The bias of ", bias.shape(0),
                                   " heads for every query and key."),
       .panels =
           HeadPanels(values, bias.shape(0), bias.shape(1), bias.shape(2)),
       .panels_per_row = PanelsPerRow(bias.shape(0)),
       .map = plot::ColorMap::kDiverging,
       .value_label = "bias",
       .row_label = "query",
       .column_label = "key"});
}

absl::StatusOr<plot::Scene> AttentionChart(
    const ChartOptions& options, const std::vector<std::string>& words,
    const v1::AttentionOptions& attention, const v1::Tensor& weights) {
  CLIENT_ASSIGN_OR_RETURN(std::vector<double> values, ToDoubles(weights));
  const auto count = static_cast<int64_t>(words.size());
  if (weights.shape_size() != 4 || weights.shape(0) != 1 ||
      weights.shape(2) != count || weights.shape(3) != count) {
    return absl::InternalError(absl::StrCat(
        "the weights sent by the server have shape ", ShapeName(weights)));
  }
  CLIENT_RETURN_IF_ERROR(CheckSide(count));
  const int64_t heads = weights.shape(1);
  bool has_masked_keys = false;
  for (int64_t i = 0; i < static_cast<int64_t>(values.size()); ++i) {
    if (IsVisible(attention, i / count % count, i % count)) continue;
    values[i] = std::numeric_limits<double>::quiet_NaN();
    has_masked_keys = true;
  }
  return plot::DrawHeatmaps(
      {.title = TitleOr(options, absl::StrCat("Attention weights with ",
                                              options.scheme_name)),
       .note = absl::StrCat("Each row holds the weights of one query and sums "
                            "to 1.",
                            has_masked_keys ? " Grey: masked keys." : ""),
       .description = absl::StrCat("Attention among ", count, " words in ",
                                   heads, heads == 1 ? " head." : " heads."),
       .panels = HeadPanels(values, heads, count, count),
       .panels_per_row = count > 12   ? 1
                         : heads == 1 ? 1
                                      : 2,
       .range = plot::Interval{0, 1},
       .value_label = "weight",
       .row_words = words,
       .column_words = words});
}

}  // namespace locus::client
