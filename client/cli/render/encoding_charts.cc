#include "client/cli/render/encoding_charts.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>

#include "absl/strings/str_cat.h"
#include "client/cli/render/position_codes.h"
#include "client/cli/requests/positions.h"
#include "client/cli/support/cli_errors.h"
#include "client/plot/heatmap.h"
#include "client/plot/line_chart.h"
#include "client/base/status_macros.h"
#include "locus/client/tensor.h"

namespace locus::client {
namespace {

// Pictures of more cells than this are neither readable nor small.
constexpr int64_t kMaxSide = 2048;

std::string KindsFor(const v1::EncodeResponse& response) {
  switch (response.encoding_case()) {
    case v1::EncodeResponse::kAdditive:
      return "heatmap, similarity, waveforms and attention";
    case v1::EncodeResponse::kRotation:
      return "similarity, waveforms and attention";
    case v1::EncodeResponse::kBias:
      return "bias and attention";
    case v1::EncodeResponse::ENCODING_NOT_SET:
      break;
  }
  return "attention";
}

absl::Status DoesNotApply(const PictureOptions& options,
                          const v1::EncodeResponse& response,
                          absl::string_view needs) {
  return UsageError(absl::StrCat(needs, ", which ", options.scheme_name,
                                 " has not; it can be shown as ",
                                 KindsFor(response)));
}

std::string TitleOr(const PictureOptions& options, absl::string_view made_up) {
  return options.title.empty() ? std::string(made_up) : options.title;
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

// Axes are numbered by positions where these are evenly spaced.
plot::Interval PositionEnds(const v1::Positions& positions) {
  return positions.has_range() ? Ends(positions)
                               : Indices(PositionCount(positions));
}

absl::Status CheckSide(int64_t count) {
  if (count <= kMaxSide) return absl::OkStatus();
  return UsageError(absl::StrCat("--positions: ", count,
                                 " are too many for a picture of this kind; "
                                 "at most ",
                                 kMaxSide));
}

// A few different ones of `count`, both ends among them. The first ones are
// closer together: they are the fast ones, in which there is more to see.
std::vector<int64_t> Spread(int64_t count, int64_t wanted) {
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
                                     " is not there; this scheme has 0 to ",
                                     count - 1));
    }
  }
  if (channels.size() > plot::kSeriesCount) {
    return UsageError(absl::StrCat("--channels: at most ", plot::kSeriesCount,
                                   " can be told apart"));
  }
  return absl::OkStatus();
}

plot::Curve WaveOf(const PictureOptions& options, const Codes& codes,
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

// A panel for each head. `values` are [heads, rows, columns].
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

// Of words, whose queries and keys stand at the same places.
bool Sees(const v1::AttentionOptions& attention, int64_t query, int64_t key) {
  if (attention.causal() && key > query) return false;
  return attention.window() == 0 || std::abs(query - key) < attention.window();
}

int PanelsPerRow(int64_t count) {
  return static_cast<int>(count <= 3 ? count : count % 3 == 0 ? 3 : 4);
}

}  // namespace

absl::StatusOr<plot::Scene> HeatmapPicture(const PictureOptions& options,
                                           const v1::EncodeResponse& response) {
  if (!response.has_additive()) {
    return DoesNotApply(options, response,
                        "a heatmap needs a table that is added to embeddings");
  }
  CLIENT_ASSIGN_OR_RETURN(const Codes codes,
                          TableCodes(response.additive().table()));
  return plot::DrawHeatmaps(
      {.title = TitleOr(options, absl::StrCat("The ", options.scheme_name,
                                              " table, channel by channel")),
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

absl::StatusOr<plot::Scene> SimilarityPicture(
    const PictureOptions& options, const v1::EncodeResponse& response) {
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
    return DoesNotApply(options, response,
                        "similarity needs codes of positions");
  }
  CLIENT_RETURN_IF_ERROR(CheckSide(codes.count));
  const plot::Interval ends = PositionEnds(options.positions);
  return plot::DrawHeatmaps(
      {.title = TitleOr(options, absl::StrCat("How alike positions are: ",
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

absl::StatusOr<plot::Scene> WaveformPicture(
    const PictureOptions& options, const v1::EncodeResponse& response,
    const std::vector<int64_t>& channels) {
  plot::LineChart chart{.x_label = "position", .markers = false};
  std::vector<int64_t> chosen = channels;
  if (response.has_additive()) {
    CLIENT_ASSIGN_OR_RETURN(const Codes codes,
                            TableCodes(response.additive().table()));
    if (chosen.empty()) chosen = Spread(codes.width, 6);
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
    if (chosen.empty()) chosen = Spread(cos.width, 3);
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
    return DoesNotApply(options, response, "waveforms need codes of positions");
  }
  chart.title =
      TitleOr(options, absl::StrCat("Waveforms of ", options.scheme_name));
  chart.description = absl::StrCat(chart.curves.size(),
                                   " channels over the positions, from fast "
                                   "to slow.");
  return plot::DrawLineChart(chart);
}

absl::StatusOr<plot::Scene> BiasPicture(const PictureOptions& options,
                                        const v1::EncodeResponse& response) {
  if (!response.has_bias()) {
    return DoesNotApply(options, response,
                        "bias needs a scheme that acts on scores");
  }
  const v1::Tensor& bias = response.bias().bias();
  CLIENT_ASSIGN_OR_RETURN(const std::vector<double> values, ToDoubles(bias));
  if (bias.shape_size() != 3) {
    return absl::InternalError(
        absl::StrCat("the server's bias is ", ShapeName(bias)));
  }
  CLIENT_RETURN_IF_ERROR(CheckSide(std::max(bias.shape(1), bias.shape(2))));
  const bool hides = std::any_of(values.begin(), values.end(),
                                 [](double x) { return !std::isfinite(x); });
  return plot::DrawHeatmaps(
      {.title = TitleOr(options, absl::StrCat("What ", options.scheme_name,
                                              " adds to the scores")),
       .note = hides ? "Grey: keys that the query does not see." : "",
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

absl::StatusOr<plot::Scene> AttentionPicture(
    const PictureOptions& options, const std::vector<std::string>& words,
    const v1::AttentionOptions& attention, const v1::Tensor& weights) {
  CLIENT_ASSIGN_OR_RETURN(std::vector<double> values, ToDoubles(weights));
  const auto count = static_cast<int64_t>(words.size());
  if (weights.shape_size() != 4 || weights.shape(0) != 1 ||
      weights.shape(2) != count || weights.shape(3) != count) {
    return absl::InternalError(
        absl::StrCat("the server's weights are ", ShapeName(weights)));
  }
  CLIENT_RETURN_IF_ERROR(CheckSide(count));
  const int64_t heads = weights.shape(1);
  bool hides = false;
  for (int64_t i = 0; i < static_cast<int64_t>(values.size()); ++i) {
    if (Sees(attention, i / count % count, i % count)) continue;
    values[i] = std::numeric_limits<double>::quiet_NaN();
    hides = true;
  }
  return plot::DrawHeatmaps(
      {.title = TitleOr(options, absl::StrCat("Who looks at whom with ",
                                              options.scheme_name)),
       .note = absl::StrCat("A row is what one word looks at; it adds up to 1.",
                            hides ? " Grey: words it does not see." : ""),
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
