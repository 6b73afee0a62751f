#include "client/plot/heatmap.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/types/span.h"
#include "client/plot/frame.h"
#include "client/plot/heatmap_layout.h"
#include "client/plot/heatmap_ticks.h"
#include "client/plot/text.h"

namespace locus::client::plot {
namespace {

// Maximum number of rows and columns of an image. Larger heatmaps are reduced,
// since their cells would be smaller than pixels.
constexpr int64_t kMaxImage = 512;
// Maximum number of cells of a picture that are drawn as separate shapes, with
// their value as hover text.
constexpr int64_t kMaxShapes = 2500;
constexpr int kBarTicks = 5;
constexpr int kPanelBarTicks = 3;

// Returns the range of the colour map for these panels.
Interval RangeOf(const HeatmapGrid& grid, absl::Span<const Heatmap> panels) {
  if (grid.range.has_value()) return *grid.range;
  double low = std::numeric_limits<double>::infinity();
  double high = -low;
  for (const Heatmap& panel : panels) {
    for (const double value : panel.values) {
      if (!IsDrawable(value)) continue;
      low = std::min(low, value);
      high = std::max(high, value);
    }
  }
  if (low > high) return {0, 1};
  if (grid.map == ColorMap::kDiverging) {
    return low == 0 && high == 0
               ? Interval{-1, 1}
               : Interval{std::min(low, 0.0), std::max(high, 0.0)};
  }
  // Without this, colours would show rounding errors.
  if (IsFlat({low, high})) return {low, low};
  return {low, high};
}

// The range, ticks and labels of a colour bar.
struct ColorBar {
  Interval range;
  std::vector<double> ticks;
  std::vector<std::string> labels;
};

// Returns one bar for each panel, or one for all of them.
std::vector<ColorBar> BarsOf(const HeatmapGrid& grid) {
  std::vector<ColorBar> bars;
  const auto add = [&](absl::Span<const Heatmap> panels, int ticks) {
    ColorBar bar{.range = RangeOf(grid, panels)};
    bar.ticks = NiceTicks(bar.range, ticks);
    bar.labels = TickLabels(bar.ticks);
    bars.push_back(std::move(bar));
  };
  if (!grid.range_per_panel) {
    add(grid.panels, kBarTicks);
    return bars;
  }
  for (const Heatmap& panel : grid.panels) {
    add(absl::MakeConstSpan(&panel, 1), kPanelBarTicks);
  }
  return bars;
}

double BarLabelWidth(const HeatmapGrid& grid,
                     const std::vector<ColorBar>& bars) {
  double widest = grid.range_per_panel
                      ? 0
                      : TextWidth(grid.value_label, kHeatmapTickSize) - 20;
  for (const ColorBar& bar : bars) {
    for (const std::string& label : bar.labels) {
      widest = std::max(widest, TextWidth(label, kHeatmapTickSize));
    }
  }
  return widest;
}

int64_t CellCount(const HeatmapGrid& grid) {
  int64_t count = 0;
  for (const Heatmap& panel : grid.panels) count += panel.rows * panel.columns;
  return count;
}

// Returns the values at the ends of the colour map. A diverging map is
// symmetric about zero, so that equal magnitudes have equal intensity.
Interval MapEnds(ColorMap map, Interval range) {
  if (map == ColorMap::kSequential) return range;
  const double bound = std::max(std::abs(range.low), std::abs(range.high));
  return {-bound, bound};
}

class GridDrawer {
 public:
  explicit GridDrawer(const HeatmapGrid& grid)
      : grid_(grid),
        bars_(BarsOf(grid)),
        layout_(LayOutHeatmaps(grid, BarLabelWidth(grid, bars_))) {}

  Scene Draw() {
    scene_ = {.width = layout_.width,
              .height = layout_.height,
              .title = grid_.title,
              .description = grid_.description};
    AddHeading(grid_.title, grid_.note, layout_.width, scene_.shapes,
               grid_.title_size);
    for (int i = 0; i < static_cast<int>(grid_.panels.size()); ++i) {
      const Point corner = layout_.Corner(i, grid_.panels_per_row);
      bar_ = &bars_[grid_.range_per_panel ? i : 0];
      DrawPanel(grid_.panels[i], corner);
      if (grid_.range_per_panel) {
        DrawBar({corner.x + layout_.panel_width + 6, corner.y}, 8,
                layout_.panel_height);
      }
      if (IsLastOfColumn(i)) DrawColumnLabel(corner);
    }
    DrawRowLabel();
    if (!grid_.range_per_panel) DrawSharedBar();
    return std::move(scene_);
  }

 private:
  void Add(Shape shape) { scene_.shapes.push_back(std::move(shape)); }

  bool IsLastOfColumn(int panel) const {
    return panel + grid_.panels_per_row >=
           static_cast<int>(grid_.panels.size());
  }

  double MapPosition(double value) const {
    return PositionInRange(value, MapEnds(grid_.map, bar_->range));
  }

  Color ColorOfValue(double value) const {
    const double position = MapPosition(value);
    if (grid_.map == ColorMap::kDiverging) {
      return ThemedColorAt(grid_.map, position);
    }
    return ColorAt(grid_.map, position);
  }

  // A text colour for the cell of a value.
  Color InkOn(double value) const {
    const ThemedRgb color = ThemedColorAt(grid_.map, MapPosition(value));
    return ThemedRgb{ReadableOn(color.light), ReadableOn(color.dark)};
  }

  Raster RasterOf(int64_t rows, int64_t columns,
                  const std::vector<double>& values) const {
    Raster raster{.columns = static_cast<int>(columns),
                  .rows = static_cast<int>(rows)};
    for (const double value : values) {
      if (!IsDrawable(value)) {
        raster.pixels.push_back({.hidden = true});
        raster.dark_pixels.push_back({.hidden = true});
        continue;
      }
      const ThemedRgb color = ThemedColorAt(grid_.map, MapPosition(value));
      raster.pixels.push_back({.color = color.light});
      raster.dark_pixels.push_back({.color = color.dark});
    }
    if (grid_.map == ColorMap::kSequential) raster.dark_pixels.clear();
    return raster;
  }

  void DrawPanel(const Heatmap& panel, Point corner) {
    Add(Rect{.corner = corner,
             .width = layout_.panel_width,
             .height = layout_.panel_height,
             .style = {.fill = Role::kHidden}});
    if (CellCount(grid_) <= kMaxShapes) {
      DrawCells(panel, corner);
    } else {
      DrawImage(Shrunk(panel, kMaxImage), corner);
    }
    Add(Rect{.corner = corner,
             .width = layout_.panel_width,
             .height = layout_.panel_height,
             .style = {.stroke = Role::kQuiet, .stroke_width = 0.6}});
    if (layout_.has_words) DrawWords(corner);
    if (layout_.numbered) DrawNumbers(panel, corner);
    DrawTitle(panel, corner);
  }

  void DrawTitle(const Heatmap& panel, Point corner) {
    double y = corner.y - 7 - layout_.words_height;
    const double width = layout_.step_x - 14;
    if (layout_.has_subtitles) {
      Add(Text{.at = {corner.x, y},
               .text = Ellipsized(panel.subtitle, kHeatmapTickSize, width),
               .size = kHeatmapTickSize,
               .color = Role::kQuiet});
      y -= kHeatmapTickSize + 4;
    }
    if (panel.title.empty()) return;
    Add(Text{.at = {corner.x, y},
             .text = Ellipsized(panel.title, 1.06 * kHeatmapTitleSize, width),
             .size = kHeatmapTitleSize,
             .bold = true});
  }

  // Returns the hover text of a cell.
  std::string HoverText(const Heatmap& panel, int64_t row,
                        int64_t column) const {
    const std::string value =
        ShortNumber(panel.values[row * panel.columns + column]);
    if (!grid_.column_words.empty()) {
      return absl::StrCat(grid_.row_words[row], " \xe2\x86\x92 ",
                          grid_.column_words[column], ": ", value);
    }
    return absl::StrCat(
        grid_.row_label, " ",
        IdOf(panel.row_ids, panel.row_ends, panel.rows, row), ", ",
        grid_.column_label, " ",
        IdOf(panel.column_ids, panel.column_ends, panel.columns, column), ": ",
        value);
  }

  void DrawCells(const Heatmap& panel, Point corner) {
    const double width =
        layout_.panel_width / static_cast<double>(panel.columns);
    const double height =
        layout_.panel_height / static_cast<double>(panel.rows);
    for (int64_t i = 0; i < panel.rows; ++i) {
      for (int64_t j = 0; j < panel.columns; ++j) {
        const double value = panel.values[i * panel.columns + j];
        if (!IsDrawable(value)) continue;
        const double left = width * static_cast<double>(j);
        const double top = height * static_cast<double>(i);
        const Point at{corner.x + left, corner.y + top};
        Add(Rect{.corner = at,
                 // The overlap avoids hairlines between cells.
                 .width = std::min(width + 0.3, layout_.panel_width - left),
                 .height = std::min(height + 0.3, layout_.panel_height - top),
                 .style = {.fill = ColorOfValue(value)},
                 .hover = HoverText(panel, i, j)});
        if (width < 34 || !layout_.has_words) continue;
        Add(Text{.at = {at.x + width / 2, at.y + height / 2 + 4},
                 .text = absl::StrFormat("%.2f", value),
                 .size = 11,
                 .anchor = Anchor::kMiddle,
                 .color = InkOn(value)});
      }
    }
  }

  void DrawImage(const Heatmap& panel, Point corner) {
    Add(Image{.corner = corner,
              .width = layout_.panel_width,
              .height = layout_.panel_height,
              .raster = RasterOf(panel.rows, panel.columns, panel.values)});
  }

  void DrawWords(Point corner) {
    const double width =
        layout_.panel_width / static_cast<double>(grid_.column_words.size());
    const double height =
        layout_.panel_height / static_cast<double>(grid_.row_words.size());
    const double size = std::min(kHeatmapWordSize, height - 1);
    for (size_t i = 0; i < grid_.row_words.size(); ++i) {
      Add(Text{
          .at = {corner.x - 7, corner.y + height * (i + 0.5) + 0.35 * size},
          .text = Ellipsized(grid_.row_words[i], size, 110),
          .size = size,
          .anchor = Anchor::kEnd});
    }
    for (size_t j = 0; j < grid_.column_words.size(); ++j) {
      Add(Text{
          .at = {corner.x + width * (j + 0.5) + (layout_.rotated_words ? 3 : 0),
                 corner.y - 6},
          .text = Ellipsized(grid_.column_words[j], size, 110),
          .size = size,
          .anchor = layout_.rotated_words ? Anchor::kStart : Anchor::kMiddle,
          .degrees = layout_.rotated_words ? -45.0 : 0.0});
    }
  }

  // Draws numbered axes. Ticks are at the centre of their row or column.
  void DrawNumbers(const Heatmap& panel, Point corner) {
    const double cell_x =
        layout_.panel_width / static_cast<double>(panel.columns);
    const double cell_y =
        layout_.panel_height / static_cast<double>(panel.rows);
    const double bottom = corner.y + layout_.panel_height;
    double label_width = 0;
    for (const int64_t id : panel.column_ids) {
      label_width =
          std::max(label_width, TextWidth(absl::StrCat(id), kHeatmapTickSize));
    }
    const int columns = static_cast<int>(layout_.panel_width /
                                         std::max(44.0, label_width + 10));
    for (const IndexTick& tick : IndexTicks(panel.column_ids, panel.column_ends,
                                            panel.columns, columns)) {
      const double x = corner.x + cell_x * (tick.index + 0.5);
      Add(Path{.points = {{x, bottom}, {x, bottom + 4}},
               .style = {.stroke = Role::kQuiet, .stroke_width = 0.8}});
      Add(Text{.at = {x, bottom + 16},
               .text = tick.label,
               .size = kHeatmapTickSize,
               .anchor = Anchor::kMiddle,
               .color = Role::kQuiet});
    }
    const int rows = static_cast<int>(layout_.panel_height / 28);
    for (const IndexTick& tick :
         IndexTicks(panel.row_ids, panel.row_ends, panel.rows, rows)) {
      const double y = corner.y + cell_y * (tick.index + 0.5);
      Add(Path{.points = {{corner.x - 4, y}, {corner.x, y}},
               .style = {.stroke = Role::kQuiet, .stroke_width = 0.8}});
      Add(Text{.at = {corner.x - 7, y + 4},
               .text = tick.label,
               .size = kHeatmapTickSize,
               .anchor = Anchor::kEnd,
               .color = Role::kQuiet});
    }
  }

  void DrawRowLabel() {
    if (grid_.row_label.empty()) return;
    Add(Text{.at = {16, layout_.row_label_y},
             .text = absl::StrCat("\xe2\x86\x93 ", grid_.row_label),
             .size = kHeatmapTickSize,
             .color = Role::kQuiet});
  }

  void DrawColumnLabel(Point corner) {
    if (grid_.column_label.empty()) return;
    Add(Text{
        .at = {corner.x + layout_.panel_width / 2,
               corner.y + layout_.panel_height + (layout_.numbered ? 33 : 16)},
        .text = absl::StrCat(grid_.column_label, " \xe2\x86\x92"),
        .size = kHeatmapTickSize,
        .anchor = Anchor::kMiddle,
        .color = Role::kQuiet});
  }

  // Draws the colour bar of the whole grid, with its label.
  void DrawSharedBar() {
    const Point corner{layout_.bar_x, layout_.first.y};
    DrawBar(corner, 13, layout_.bar_height);
    Add(Text{.at = {corner.x, corner.y - 9},
             .text = grid_.value_label,
             .size = kHeatmapTickSize,
             .color = Role::kQuiet});
  }

  void DrawBar(Point corner, double width, double height) {
    constexpr int kSteps = 128;
    const Interval range = bar_->range;
    std::vector<double> values;
    for (int i = 0; i < kSteps; ++i) {
      const double position = 1 - (i + 0.5) / kSteps;
      values.push_back(range.low + position * (range.high - range.low));
    }
    Add(Image{.corner = corner,
              .width = width,
              .height = height,
              .raster = RasterOf(kSteps, 1, values)});
    const Scale y = Scale::Linear(range, {corner.y + height, corner.y});
    for (size_t i = 0; i < bar_->ticks.size(); ++i) {
      const double at = y.At(bar_->ticks[i]);
      Add(Path{.points = {{corner.x + width, at}, {corner.x + width + 4, at}},
               .style = {.stroke = Role::kQuiet, .stroke_width = 0.8}});
      Add(Text{.at = {corner.x + width + 7, at + 4},
               .text = bar_->labels[i],
               .size = kHeatmapTickSize,
               .color = Role::kQuiet});
    }
  }

  const HeatmapGrid& grid_;
  const std::vector<ColorBar> bars_;
  const HeatmapLayout layout_;
  // The bar of the panel that is drawn.
  const ColorBar* bar_ = nullptr;
  Scene scene_;
};

}  // namespace

Scene DrawHeatmaps(const HeatmapGrid& grid) { return GridDrawer(grid).Draw(); }

}  // namespace locus::client::plot
