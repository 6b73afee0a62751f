#include "client/plot/heatmap_layout.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "client/plot/frame.h"
#include "client/plot/text.h"

namespace locus::client::plot {
namespace {

constexpr double kGridMargin = 16;
// Maximum width of a word; longer words are cut.
constexpr double kMaxWord = 110;

double MaxWordWidth(const std::vector<std::string>& words) {
  double widest = 0;
  for (const std::string& word : words) {
    widest = std::max(widest, TextWidth(word, kHeatmapWordSize));
  }
  return std::min(widest, kMaxWord);
}

// Returns the size of a cell. Up to 12 cells it is large enough for a number.
double CellSize(int64_t count) {
  if (count <= 8) return 44;
  if (count <= 12) return 36;
  if (count <= 20) return 26;
  return std::max(4.0, 560.0 / static_cast<double>(count));
}

// Whether there are words, and cells that are large enough for them.
bool WordsFit(const HeatmapGrid& grid) {
  const size_t count =
      std::max(grid.column_words.size(), grid.row_words.size());
  return !grid.column_words.empty() &&
         CellSize(static_cast<int64_t>(count)) >= 11;
}

// Returns the width of the widest number of a row.
double NumberWidth(const HeatmapGrid& grid) {
  double widest = TextWidth("000", kHeatmapTickSize);
  for (const Heatmap& panel : grid.panels) {
    const auto include = [&](int64_t id) {
      widest = std::max(widest, TextWidth(absl::StrCat(id), kHeatmapTickSize));
    };
    for (const int64_t id : panel.row_ids) include(id);
    if (panel.row_ids.empty()) include(std::llround(panel.row_ends.high));
  }
  return widest;
}

void SizeByWords(const HeatmapGrid& grid, HeatmapLayout& layout) {
  const double columns = static_cast<double>(grid.column_words.size());
  const double rows = static_cast<double>(grid.row_words.size());
  const double cell = CellSize(static_cast<int64_t>(std::max(columns, rows)));
  layout.panel_width = columns * cell;
  layout.panel_height = rows * cell;
  layout.rotated_words = MaxWordWidth(grid.column_words) > cell - 4;
}

void SizeByNumbers(const HeatmapGrid& grid, HeatmapLayout& layout) {
  constexpr double kWidths[] = {520, 300, 215, 165};
  const size_t index = std::min<size_t>(grid.panels_per_row - 1, 3);
  layout.panel_width = grid.panels_per_row <= 4
                           ? kWidths[index]
                           : 720.0 / grid.panels_per_row - 12;
  if (grid.panel_width > 0) layout.panel_width = grid.panel_width;
  const Heatmap& panel = grid.panels.front();
  const double ratio = static_cast<double>(panel.rows) /
                       static_cast<double>(std::max<int64_t>(panel.columns, 1));
  layout.panel_height =
      layout.panel_width *
      (panel.rows == panel.columns ? 1.0 : std::clamp(ratio, 0.35, 0.85));
  if (grid.panels_per_row == 1) {
    layout.panel_height = std::min(layout.panel_height, 480.0);
    if (panel.rows == panel.columns) layout.panel_width = layout.panel_height;
  }
  layout.numbered = layout.panel_width >= 140;
}

}  // namespace

HeatmapLayout LayOutHeatmaps(const HeatmapGrid& grid, double bar_labels) {
  HeatmapLayout layout;
  layout.has_words = WordsFit(grid);
  const bool words = layout.has_words;
  words ? SizeByWords(grid, layout) : SizeByNumbers(grid, layout);
  const int count = static_cast<int>(grid.panels.size());
  const int columns = std::min(grid.panels_per_row, count);
  layout.rows = (count + columns - 1) / columns;

  const double left = words             ? MaxWordWidth(grid.row_words) + 10
                      : layout.numbered ? NumberWidth(grid) + 12
                                        : 0;
  double bottom = layout.numbered ? 22 : 4;
  // The label of the columns is below the last panel of each column.
  if (!grid.column_label.empty() && count % columns != 0) bottom += 16;
  layout.words_height =
      !words ? 0
             : 8 + (layout.rotated_words
                        ? 0.75 * MaxWordWidth(grid.column_words) + 6
                        : kHeatmapWordSize);
  const auto any = [&grid](auto has) {
    return std::any_of(grid.panels.begin(), grid.panels.end(), has);
  };
  layout.has_subtitles =
      any([](const Heatmap& panel) { return !panel.subtitle.empty(); });
  const bool titled =
      any([](const Heatmap& panel) { return !panel.title.empty(); });
  const double above = layout.words_height +
                       (titled ? kHeatmapTitleSize + 8 : 2) +
                       (layout.has_subtitles ? kHeatmapTickSize + 4 : 0);
  // Rotated words extend beyond the last column.
  const double lean =
      layout.rotated_words ? 0.7 * MaxWordWidth(grid.column_words) : 0;
  const double own_bar = grid.range_per_panel ? 6 + 8 + 7 + bar_labels : 0;
  const double gap = std::max(14.0, lean);
  layout.step_x = left + layout.panel_width + own_bar + gap;
  layout.step_y = above + layout.panel_height + bottom + 8;
  const double panels_end = kGridMargin + columns * layout.step_x - gap;
  layout.bar_x = panels_end + std::max(22.0, lean + 6);
  const double end =
      grid.range_per_panel ? panels_end + lean : layout.bar_x + 22 + bar_labels;
  layout.width = std::ceil(std::max(420.0, end + kGridMargin));

  std::vector<Shape> unused;
  double top =
      AddHeading(grid.title, grid.note, layout.width, unused, grid.title_size);
  if (!grid.row_label.empty()) {
    layout.row_label_y = top + 9;
    top += 20;
  }
  layout.first = {kGridMargin + left, top + above};
  layout.bar_height =
      std::clamp(layout.step_y * layout.rows - above - bottom - 8, 90.0, 320.0);
  const double panels_bottom = top + layout.step_y * layout.rows;
  const double bar_bottom =
      grid.range_per_panel ? 0 : layout.first.y + layout.bar_height + 12;
  const bool room_below = !grid.column_label.empty() && count % columns == 0;
  layout.height =
      std::ceil(std::max(panels_bottom, bar_bottom) + (room_below ? 16 : 6));
  return layout;
}

}  // namespace locus::client::plot
