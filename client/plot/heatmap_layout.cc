#include "client/plot/heatmap_layout.h"

#include <algorithm>
#include <cmath>

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
  const bool words = !grid.column_words.empty();
  words ? SizeByWords(grid, layout) : SizeByNumbers(grid, layout);
  const int count = static_cast<int>(grid.panels.size());
  const int columns = std::min(grid.panels_per_row, count);
  layout.rows = (count + columns - 1) / columns;

  const double left = words             ? MaxWordWidth(grid.row_words) + 10
                      : layout.numbered ? 40
                                        : 0;
  const double bottom = layout.numbered ? 22 : 4;
  layout.words_height =
      !words ? 0
             : 8 + (layout.rotated_words
                        ? 0.75 * MaxWordWidth(grid.column_words) + 6
                        : kHeatmapWordSize);
  const bool titled =
      std::any_of(grid.panels.begin(), grid.panels.end(),
                  [](const Heatmap& panel) { return !panel.title.empty(); });
  const double above =
      layout.words_height + (titled ? kHeatmapTitleSize + 8 : 2);
  // Rotated words extend beyond the last column.
  const double lean =
      layout.rotated_words ? 0.7 * MaxWordWidth(grid.column_words) : 0;
  layout.step_x = left + layout.panel_width + std::max(14.0, lean);
  layout.step_y = above + layout.panel_height + bottom + 8;
  const double panels_end =
      kGridMargin + columns * layout.step_x - std::max(14.0, lean);
  layout.bar_x = panels_end + std::max(22.0, lean + 6);
  layout.width =
      std::ceil(std::max(420.0, layout.bar_x + 22 + bar_labels + kGridMargin));

  std::vector<Shape> unused;
  double top = AddHeading(grid.title, grid.note, layout.width, unused);
  if (!grid.row_label.empty()) top += 20;
  layout.first = {kGridMargin + left, top + above};
  layout.bar_height =
      std::clamp(layout.step_y * layout.rows - above - bottom - 8, 90.0, 320.0);
  const double panels_bottom = top + layout.step_y * layout.rows;
  const double bar_bottom = layout.first.y + layout.bar_height + 12;
  layout.height = std::ceil(std::max(panels_bottom, bar_bottom) +
                            (grid.column_label.empty() ? 6 : 24));
  return layout;
}

}  // namespace locus::client::plot
