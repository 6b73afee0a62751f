#include "client/cli/render/encoding_charts.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/base/status_macros.h"
#include "client/cli/render/position_codes.h"
#include "client/cli/render/wave_charts.h"
#include "client/plot/compose.h"
#include "client/plot/heatmap.h"
#include "locus/client/tensor.h"

namespace locus::client {
namespace {

absl::StatusOr<plot::HeatmapGrid> TableGrid(
    const ChartOptions& options, const v1::EncodeResponse& response) {
  if (!response.has_additive()) {
    return NotApplicable(options, response, "table of position codes");
  }
  CLIENT_ASSIGN_OR_RETURN(const Codes codes,
                          TableCodes(response.additive().table()));
  CLIENT_ASSIGN_OR_RETURN(
      plot::Heatmap panel,
      SelectedPart(options,
                   {.rows = codes.count,
                    .columns = codes.width,
                    .values = codes.values,
                    .column_ends = {0, static_cast<double>(codes.width) - 1},
                    .row_ids = IdsOf(options.positions)}));
  return plot::HeatmapGrid{
      .title = TitleOr(
          options, absl::StrCat("Position codes of ", TitleOfScheme(options))),
      .note = NoteWith(options, ""),
      .description = absl::StrCat("Values of ", panel.columns, " channels at ",
                                  panel.rows, " positions."),
      .panels = {std::move(panel)},
      .map = plot::ColorMap::kDiverging,
      .value_label = "value",
      .row_label = "position",
      .column_label = "channel"};
}

absl::StatusOr<plot::HeatmapGrid> SimilarityGrid(
    const ChartOptions& options, const v1::EncodeResponse& response) {
  CLIENT_ASSIGN_OR_RETURN(const Codes codes, CodesOf(options, response));
  CLIENT_RETURN_IF_ERROR(CheckSide(codes.count));
  const std::string explanation =
      response.has_rotation()
          ? "The cosine between a vector of ones rotated for one position and "
            "for another."
          : "The cosine between the codes of two positions.";
  const std::vector<int64_t> ids = IdsOf(options.positions);
  CLIENT_ASSIGN_OR_RETURN(plot::Heatmap panel,
                          SelectedPart(options, {.rows = codes.count,
                                                 .columns = codes.count,
                                                 .values = Cosines(codes),
                                                 .row_ids = ids,
                                                 .column_ids = ids}));
  return plot::HeatmapGrid{
      .title = TitleOr(options, absl::StrCat("Similarity of positions: ",
                                             TitleOfScheme(options))),
      .note = NoteWith(options, explanation),
      .description = explanation,
      .panels = {std::move(panel)},
      .value_label = "cosine",
      .row_label = "position",
      .column_label = "position"};
}

// Whether a key is visible to a query under the causal mask and the window.
// Queries and keys of words have the same positions.
bool IsVisible(const v1::AttentionOptions& attention, int64_t query,
               int64_t key) {
  if (attention.causal() && key > query) return false;
  return attention.window() == 0 || std::abs(query - key) < attention.window();
}

// The colour scale of attention weights.
struct WeightScale {
  plot::Interval range = {0, 1};
  // Whether some weights exceed the range.
  bool is_cut = false;
};

// Returns the scale from 0 to 1 for few words, whose weights are written in the
// cells. Among many words most weights are small: the scale then ends at the
// 99th percentile of the visible weights, or at the maximum if that is near.
WeightScale ScaleOfWeights(const std::vector<double>& values, int64_t count) {
  constexpr int64_t kFewWords = 12;
  if (count <= kFewWords) return {};
  std::vector<double> visible;
  for (const double value : values) {
    if (std::isfinite(value)) visible.push_back(value);
  }
  if (visible.empty()) return {};
  const double max = *std::max_element(visible.begin(), visible.end());
  const auto nth =
      visible.begin() + static_cast<ptrdiff_t>(visible.size() * 99 / 100);
  std::nth_element(visible.begin(), nth, visible.end());
  if (max <= 0) return {};
  if (*nth <= 0 || max < 2 * *nth) return {.range = {0, max}};
  return {.range = {0, *nth}, .is_cut = true};
}

}  // namespace

absl::StatusOr<plot::Scene> HeatmapChart(const ChartOptions& options,
                                         const v1::EncodeResponse& response) {
  CLIENT_ASSIGN_OR_RETURN(const plot::HeatmapGrid grid,
                          TableGrid(options, response));
  return plot::DrawHeatmaps(grid);
}

absl::StatusOr<plot::Scene> SimilarityChart(
    const ChartOptions& options, const v1::EncodeResponse& response) {
  CLIENT_ASSIGN_OR_RETURN(const plot::HeatmapGrid grid,
                          SimilarityGrid(options, response));
  return plot::DrawHeatmaps(grid);
}

absl::StatusOr<plot::Scene> TriptychChart(
    const ChartOptions& options, const v1::EncodeResponse& response,
    const std::vector<int64_t>& channels) {
  constexpr double kPanel = 350;
  CLIENT_ASSIGN_OR_RETURN(plot::HeatmapGrid table,
                          TableGrid(options, response));
  ChartOptions whole = options;
  whole.rows.reset();
  whole.columns.reset();
  CLIENT_ASSIGN_OR_RETURN(plot::HeatmapGrid similarity,
                          SimilarityGrid(whole, response));
  CLIENT_ASSIGN_OR_RETURN(plot::StripChart waves,
                          WaveformStrips({{whole, response}}, channels));
  table.title = "Table";
  similarity.title = "Cosine between positions";
  waves.title = "Channels over positions";
  table.panel_width = similarity.panel_width = kPanel;
  for (plot::HeatmapGrid* grid : {&table, &similarity}) {
    grid->note = "";
    grid->title_size = plot::kPanelTitleSize;
  }
  waves.note = "";
  waves.title_size = plot::kPanelTitleSize;
  waves.width = 460;
  waves.strip_height =
      std::max(40.0, kPanel / static_cast<double>(waves.strips.size()) - 10);
  return plot::Compose(
      {.title = TitleOr(
           options, absl::StrCat("Position codes of ", TitleOfScheme(options))),
       .note = NoteWith(options, ""),
       .description = "The table, the cosine between every two positions, and "
                      "some channels over the positions.",
       .panels = {plot::DrawHeatmaps(table), plot::DrawHeatmaps(similarity),
                  plot::DrawStrips(waves)},
       .columns = 3});
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
  const WeightScale scale = ScaleOfWeights(values, count);
  const std::string note = absl::StrCat(
      "Each row holds the weights of one query and sums to 1.",
      has_masked_keys ? " Grey: masked keys." : "",
      scale.is_cut ? absl::StrCat(" Colours end at ",
                                  plot::ShortNumber(scale.range.high),
                                  ", the 99th percentile.")
                   : "");
  return plot::DrawHeatmaps(
      {.title = TitleOr(options, absl::StrCat("Attention weights with ",
                                              TitleOfScheme(options))),
       .note = NoteWith(options, note),
       .description = absl::StrCat("Attention among ", count, " words in ",
                                   heads, heads == 1 ? " head." : " heads."),
       .panels = HeadPanels(values, heads, count, count),
       .panels_per_row = heads == 1 ? 1 : 2,
       .range = scale.range,
       .value_label = "weight",
       .row_label = "query",
       .column_label = "key",
       .row_words = words,
       .column_words = words});
}

}  // namespace locus::client
