#include "client/plot/clocks.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/plot/frame.h"
#include "client/plot/scale.h"
#include "client/plot/text.h"

namespace locus::client::plot {
namespace {

constexpr double kTurn = 2 * std::numbers::pi;
constexpr double kRadius = 62;
constexpr double kTileWidth = 186;

constexpr double kCaptionSize = 11;
constexpr double kNumberSize = 10;
// Angles with trained content, angles beyond, and the hands.
constexpr Role kTrained = SeriesRole(2);
constexpr Role kBeyond = SeriesRole(1);
constexpr Role kHand = SeriesRole(0);

class ClockDrawer {
 public:
  explicit ClockDrawer(const ClockGrid& grid) : grid_(grid) {}

  Scene Draw() {
    const int count = static_cast<int>(grid_.clocks.size());
    const int columns = std::clamp(grid_.clocks_per_row, 1, std::max(1, count));
    size_t captions = 0;
    for (const Clock& clock : grid_.clocks) {
      captions = std::max(captions, clock.captions.size());
    }
    const double tile_height = kPanelTitleSize + 2 * (kRadius + 20) + 8 +
                               (kCaptionSize + 4) * captions + 12;
    scene_ = {.width = std::max(440.0, 2 * kChartMargin + columns * kTileWidth),
              .title = grid_.title,
              .description = grid_.description};
    double top =
        AddHeading(grid_.title, grid_.note, scene_.width, scene_.shapes);
    top = DrawLegend(top);
    for (int i = 0; i < count; ++i) {
      DrawClock(grid_.clocks[i], {kChartMargin + kTileWidth * (i % columns),
                                  top + tile_height * (i / columns)});
    }
    scene_.height = top + tile_height * ((count + columns - 1) / columns);
    return std::move(scene_);
  }

 private:
  void Add(Shape shape) { scene_.shapes.push_back(std::move(shape)); }

  // Positive angles turn counterclockwise, so y is negated.
  static Point At(Point center, double angle, double radius) {
    return {center.x + radius * std::cos(angle),
            center.y - radius * std::sin(angle)};
  }

  double DrawLegend(double top) {
    double x = kChartMargin;
    const auto add = [&](const std::string& label, Role role, double opacity) {
      if (label.empty()) return;
      const double extent = 14 + 6 + TextWidth(label, kCaptionSize) + 18;
      if (x > kChartMargin && x + extent > scene_.width - kChartMargin) {
        x = kChartMargin;
        top += kCaptionSize + 7;
      }
      Add(Rect{.corner = {x, top},
               .width = 14,
               .height = 11,
               .style = {.fill = role, .opacity = opacity}});
      Add(Text{.at = {x + 20, top + 9.5},
               .text = label,
               .size = kCaptionSize,
               .color = Role::kQuiet});
      x += extent;
    };
    add(grid_.trained_label, kTrained, 0.35);
    add(grid_.target_label, kBeyond, 0.45);
    return x > kChartMargin ? top + 22 : top;
  }

  // A sector of the disc; a whole turn is the disc.
  void DrawSector(Point center, double from, double to, Role role,
                  double opacity) {
    if (!(to > from)) return;
    const Style style{.fill = role, .opacity = opacity};
    if (to - from >= kTurn) {
      Add(Circle{.center = center, .radius = kRadius, .style = style});
      return;
    }
    Path path{.points = {center}, .closed = true, .style = style};
    const int steps = std::max(2, static_cast<int>((to - from) / 0.05));
    for (int i = 0; i <= steps; ++i) {
      path.points.push_back(
          At(center, from + (to - from) * i / steps, kRadius));
    }
    Add(std::move(path));
  }

  void DrawShading(const Clock& clock, Point center) {
    const double trained = std::min(clock.trained_radians, kTurn);
    DrawSector(center, 0, trained, kTrained, 0.22);
    // A full turn covers every angle.
    if (clock.trained_radians > 0 && trained < kTurn) {
      DrawSector(center, trained, std::min(clock.target_radians, kTurn),
                 kBeyond, 0.3);
    }
  }

  void DrawFace(Point center) {
    Add(Circle{.center = center,
               .radius = kRadius,
               .style = {.stroke = Role::kQuiet, .stroke_width = 1}});
    for (int quarter = 0; quarter < 4; ++quarter) {
      const double angle = quarter * kTurn / 4;
      Add(Path{.points = {At(center, angle, kRadius - 5),
                          At(center, angle, kRadius)},
               .style = {.stroke = Role::kQuiet}});
    }
  }

  void DrawHands(const Clock& clock, Point center) {
    const size_t count = grid_.positions.size();
    std::vector<double> labelled;
    for (size_t i = 0; i < count; ++i) {
      const double angle =
          clock.radians_per_position * static_cast<double>(grid_.positions[i]);
      const bool is_last = i + 1 == count;
      const double opacity =
          is_last ? 1 : 0.2 + 0.5 * static_cast<double>(i + 1) / count;
      DrawHand(center, angle, opacity, is_last,
               absl::StrCat("position ", grid_.positions[i], ": ",
                            ShortNumber(angle / kTurn), " turns"));
    }
    // The last position is labelled first.
    for (size_t i = count; i-- > 0;) {
      const double angle =
          clock.radians_per_position * static_cast<double>(grid_.positions[i]);
      DrawNumber(center, angle, grid_.positions[i], labelled);
    }
  }

  void DrawHand(Point center, double angle, double opacity, bool is_last,
                const std::string& hover) {
    const Point tip = At(center, angle, kRadius);
    Add(Path{.points = {center, tip},
             .style = {.stroke = kHand,
                       .stroke_width = is_last ? 2.2 : 1.1,
                       .opacity = opacity},
             .hover = hover});
    if (!is_last) {
      Add(Circle{.center = tip,
                 .radius = 2.2,
                 .style = {.fill = kHand, .opacity = opacity},
                 .hover = hover});
      return;
    }
    Add(Path{
        .points = {tip, At(At(center, angle, kRadius - 9), angle + 1.571, 4),
                   At(At(center, angle, kRadius - 9), angle - 1.571, 4)},
        .closed = true,
        .style = {.fill = kHand},
        .hover = hover});
  }

  // Writes the position outside the rim unless another number is too near.
  void DrawNumber(Point center, double angle, int64_t position,
                  std::vector<double>& labelled) {
    const std::string label = absl::StrCat(position);
    const double min_distance =
        (TextWidth(label, kNumberSize) + 8) / (kRadius + 10);
    for (const double other : labelled) {
      const double distance = std::abs(std::remainder(angle - other, kTurn));
      if (distance < min_distance) return;
    }
    labelled.push_back(angle);
    const Point at = At(center, angle, kRadius + 11);
    const double side = std::cos(angle);
    Add(Text{.at = {at.x - 4 * side, at.y + 0.35 * kNumberSize},
             .text = label,
             .size = kNumberSize,
             .anchor = side > 0.5    ? Anchor::kStart
                       : side < -0.5 ? Anchor::kEnd
                                     : Anchor::kMiddle,
             .color = Role::kQuiet});
  }

  void DrawClock(const Clock& clock, Point corner) {
    const double middle = corner.x + kTileWidth / 2;
    Add(Text{.at = {middle, corner.y + kPanelTitleSize},
             .text = Ellipsized(clock.title, 1.06 * kPanelTitleSize,
                                kTileWidth - 10),
             .size = kPanelTitleSize,
             .anchor = Anchor::kMiddle,
             .bold = true});
    const Point center{middle, corner.y + kPanelTitleSize + kRadius + 24};
    DrawShading(clock, center);
    DrawFace(center);
    if (clock.target_radians > 0) {
      Add(Path{
          .points = {At(center, clock.target_radians, 0),
                     At(center, clock.target_radians, kRadius + 3)},
          .style = {.stroke = kBeyond, .stroke_width = 1.6, .dashes = {4, 3}},
          .hover = absl::StrCat(grid_.target_label, ": ",
                                ShortNumber(clock.target_radians / kTurn),
                                " turns")});
    }
    DrawHands(clock, center);
    double y = center.y + kRadius + 22;
    for (const std::string& caption : clock.captions) {
      y += kCaptionSize;
      Add(Text{.at = {middle, y},
               .text = Ellipsized(caption, kCaptionSize, kTileWidth - 6),
               .size = kCaptionSize,
               .anchor = Anchor::kMiddle,
               .color = Role::kQuiet});
      y += 4;
    }
  }

  const ClockGrid& grid_;
  Scene scene_;
};

}  // namespace

Scene DrawClocks(const ClockGrid& grid) { return ClockDrawer(grid).Draw(); }

}  // namespace locus::client::plot
