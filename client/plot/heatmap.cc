#include "client/plot/heatmap.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/plot/frame.h"
#include "client/plot/heatmap_layout.h"
#include "client/plot/text.h"

namespace locus::client::plot {
namespace {

// Maximum number of rows and columns of an image. Larger heatmaps are reduced,
// since their cells would be smaller than pixels.
constexpr int64_t kMaxImage = 512;
// Maximum number of cells that are drawn as separate shapes, with their value
// as hover text.
constexpr int64_t kMaxShapes = 1024;

// Returns the range of the colour map.
Interval RangeOf(const HeatmapGrid& grid) {
  if (grid.range.has_value()) return *grid.range;
  double low = std::numeric_limits<double>::infinity();
  double high = -low;
  for (const Heatmap& panel : grid.panels) {
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
        range_(RangeOf(grid)),
        bar_ticks_(NiceTicks(range_, 5)),
        bar_labels_(TickLabels(bar_ticks_)),
        layout_(LayOutHeatmaps(grid, BarLabelWidth())) {}

  Scene Draw() {
    scene_ = {.width = layout_.width,
              .height = layout_.height,
              .title = grid_.title,
              .description = grid_.description};
    AddHeading(grid_.title, grid_.note, layout_.width, scene_.shapes);
    for (int i = 0; i < static_cast<int>(grid_.panels.size()); ++i) {
      DrawPanel(grid_.panels[i], layout_.Corner(i, grid_.panels_per_row));
    }
    DrawLabels();
    DrawBar();
    return std::move(scene_);
  }

 private:
  void Add(Shape shape) { scene_.shapes.push_back(std::move(shape)); }

  double BarLabelWidth() const {
    double widest = TextWidth(grid_.value_label, kHeatmapTickSize) - 20;
    for (const std::string& label : bar_labels_) {
      widest = std::max(widest, TextWidth(label, kHeatmapTickSize));
    }
    return widest;
  }

  Rgb ColorOfValue(double value) const {
    return ColorAt(grid_.map,
                   PositionInRange(value, MapEnds(grid_.map, range_)));
  }

  void DrawPanel(const Heatmap& panel, Point corner) {
    Add(Rect{.corner = corner,
             .width = layout_.panel_width,
             .height = layout_.panel_height,
             .style = {.fill = Role::kHidden}});
    const bool words = !grid_.column_words.empty();
    if (words && panel.rows * panel.columns <= kMaxShapes) {
      DrawCells(panel, corner);
    } else {
      DrawImage(Shrunk(panel, kMaxImage), corner);
    }
    Add(Rect{.corner = corner,
             .width = layout_.panel_width,
             .height = layout_.panel_height,
             .style = {.stroke = Role::kQuiet, .stroke_width = 0.6}});
    if (words) DrawWords(corner);
    if (layout_.numbered) DrawNumbers(panel, corner);
    if (!panel.title.empty()) DrawTitle(panel.title, corner);
  }

  void DrawTitle(const std::string& title, Point corner) {
    Add(Text{.at = {corner.x, corner.y - 7 - layout_.words_height},
             .text = Ellipsized(title, kHeatmapTitleSize, layout_.step_x - 14),
             .size = kHeatmapTitleSize,
             .bold = true});
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
        const Point at{corner.x + width * static_cast<double>(j),
                       corner.y + height * static_cast<double>(i)};
        const Rgb color = ColorOfValue(value);
        Add(Rect{.corner = at,
                 // The overlap avoids hairlines between cells.
                 .width = width + 0.3,
                 .height = height + 0.3,
                 .style = {.fill = color},
                 .hover = absl::StrCat(grid_.row_words[i], " \xe2\x86\x92 ",
                                       grid_.column_words[j], ": ",
                                       ShortNumber(value))});
        if (width < 34) continue;
        Add(Text{.at = {at.x + width / 2, at.y + height / 2 + 4},
                 .text = absl::StrFormat("%.2f", value),
                 .size = 11,
                 .anchor = Anchor::kMiddle,
                 .color = ReadableOn(color)});
      }
    }
  }

  void DrawImage(const Heatmap& panel, Point corner) {
    Raster raster{.columns = static_cast<int>(panel.columns),
                  .rows = static_cast<int>(panel.rows)};
    for (const double value : panel.values) {
      raster.pixels.push_back(IsDrawable(value)
                                  ? Raster::Pixel{.color = ColorOfValue(value)}
                                  : Raster::Pixel{.hidden = true});
    }
    Add(Image{.corner = corner,
              .width = layout_.panel_width,
              .height = layout_.panel_height,
              .raster = std::move(raster)});
  }

  void DrawWords(Point corner) {
    const double width =
        layout_.panel_width / static_cast<double>(grid_.column_words.size());
    const double height =
        layout_.panel_height / static_cast<double>(grid_.row_words.size());
    if (std::min(width, height) < 9) return;  // Too small for text.
    const double size = std::min(kHeatmapWordSize, height - 1);
    for (size_t i = 0; i < grid_.row_words.size(); ++i) {
      Add(Text{.at = {corner.x - 7, corner.y + height * (i + 0.5) + 4},
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
    const Scale x = Scale::Linear(
        panel.column_ends,
        {corner.x + cell_x / 2, corner.x + layout_.panel_width - cell_x / 2});
    const Scale y = Scale::Linear(
        panel.row_ends,
        {corner.y + cell_y / 2, corner.y + layout_.panel_height - cell_y / 2});
    const double bottom = corner.y + layout_.panel_height;
    DrawTicks(
        panel.column_ends, layout_.panel_width / 70,
        [&](double tick, const std::string& label) {
          Add(Path{.points = {{x.At(tick), bottom}, {x.At(tick), bottom + 4}},
                   .style = {.stroke = Role::kQuiet, .stroke_width = 0.8}});
          Add(Text{.at = {x.At(tick), bottom + 16},
                   .text = label,
                   .size = kHeatmapTickSize,
                   .anchor = Anchor::kMiddle,
                   .color = Role::kQuiet});
        });
    DrawTicks(
        panel.row_ends, layout_.panel_height / 50,
        [&](double tick, const std::string& label) {
          Add(Path{
              .points = {{corner.x - 4, y.At(tick)}, {corner.x, y.At(tick)}},
              .style = {.stroke = Role::kQuiet, .stroke_width = 0.8}});
          Add(Text{.at = {corner.x - 7, y.At(tick) + 4},
                   .text = label,
                   .size = kHeatmapTickSize,
                   .anchor = Anchor::kEnd,
                   .color = Role::kQuiet});
        });
  }

  // Calls each(tick, label) for integral ticks, since positions are integers.
  template <typename Each>
  static void DrawTicks(Interval ends, double count, Each each) {
    std::vector<double> ticks;
    for (const double tick :
         NiceTicks(ends, std::max(2, static_cast<int>(count)))) {
      if (tick == std::round(tick)) ticks.push_back(tick);
    }
    const std::vector<std::string> labels = TickLabels(ticks);
    for (size_t i = 0; i < ticks.size(); ++i) each(ticks[i], labels[i]);
  }

  void DrawLabels() {
    if (!grid_.row_label.empty()) {
      const double title =
          grid_.panels.front().title.empty() ? 0 : kHeatmapTitleSize + 8;
      Add(Text{.at = {16, layout_.first.y - layout_.words_height - title - 9},
               .text = absl::StrCat("\xe2\x86\x93 ", grid_.row_label),
               .size = kHeatmapTickSize,
               .color = Role::kQuiet});
    }
    if (!grid_.column_label.empty()) {
      Add(Text{.at = {layout_.first.x + layout_.panel_width / 2,
                      layout_.height - 12},
               .text = absl::StrCat(grid_.column_label, " \xe2\x86\x92"),
               .size = kHeatmapTickSize,
               .anchor = Anchor::kMiddle,
               .color = Role::kQuiet});
    }
  }

  void DrawBar() {
    constexpr int kSteps = 128;
    constexpr double kWidth = 13;
    const Point corner{layout_.bar_x, layout_.first.y};
    Raster raster{.columns = 1, .rows = kSteps};
    for (int i = 0; i < kSteps; ++i) {
      const double position = 1 - (i + 0.5) / kSteps;
      raster.pixels.push_back(
          {.color = ColorOfValue(range_.low +
                                 position * (range_.high - range_.low))});
    }
    Add(Image{.corner = corner,
              .width = kWidth,
              .height = layout_.bar_height,
              .raster = std::move(raster)});
    const Scale y =
        Scale::Linear(range_, {corner.y + layout_.bar_height, corner.y});
    for (size_t i = 0; i < bar_ticks_.size(); ++i) {
      const double at = y.At(bar_ticks_[i]);
      Add(Path{.points = {{corner.x + kWidth, at}, {corner.x + kWidth + 4, at}},
               .style = {.stroke = Role::kQuiet, .stroke_width = 0.8}});
      Add(Text{.at = {corner.x + kWidth + 7, at + 4},
               .text = bar_labels_[i],
               .size = kHeatmapTickSize,
               .color = Role::kQuiet});
    }
    Add(Text{.at = {corner.x, corner.y - 9},
             .text = grid_.value_label,
             .size = kHeatmapTickSize,
             .color = Role::kQuiet});
  }

  const HeatmapGrid& grid_;
  const Interval range_;
  const std::vector<double> bar_ticks_;
  const std::vector<std::string> bar_labels_;
  const HeatmapLayout layout_;
  Scene scene_;
};

}  // namespace

Scene DrawHeatmaps(const HeatmapGrid& grid) { return GridDrawer(grid).Draw(); }

}  // namespace locus::client::plot
