#include "client/plot/line_chart.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/plot/frame.h"
#include "client/plot/labels.h"
#include "client/plot/text.h"
#include "client/plot/theme.h"

namespace locus::client::plot {
namespace {

constexpr double kLabelSize = 12.5;
// Minimum relative span of the y axis. For a smaller span the labels of the
// ticks would be equal.
constexpr double kMinSpan = 1e-5;

// Whether a value can be drawn on an axis.
bool HasPlace(double value, bool is_log) {
  return IsDrawable(value) && (!is_log || value > 0);
}

bool IsShown(const LineChart& chart, const CurvePoint& point) {
  return HasPlace(point.x, chart.log_x) && HasPlace(point.y, chart.log_y);
}

Interval XRange(const LineChart& chart) {
  Interval range{std::numeric_limits<double>::infinity(),
                 -std::numeric_limits<double>::infinity()};
  const auto include = [&](double x) {
    if (!HasPlace(x, chart.log_x)) return;
    range = {std::min(range.low, x), std::max(range.high, x)};
  };
  for (const Curve& curve : chart.curves) {
    for (const CurvePoint& point : curve.points) include(point.x);
  }
  if (chart.marked_x.has_value()) include(*chart.marked_x);
  if (range.low > range.high) return chart.log_x ? Interval{1, 2} : Interval{};
  return range;
}

// All horizontal lines of a chart.
std::vector<ReferenceLine> LinesOf(const LineChart& chart) {
  std::vector<ReferenceLine> lines = chart.references;
  if (chart.reference.has_value()) {
    lines.push_back({*chart.reference, chart.reference_label});
  }
  std::erase_if(lines, [&chart](const ReferenceLine& line) {
    return !HasPlace(line.y, chart.log_y);
  });
  return lines;
}

// The extent of the values on the y axis, which are logarithms on a logarithmic
// axis. Values without a place on the axis are left out.
class Extent {
 public:
  explicit Extent(bool is_log) : is_log_(is_log) {}

  void Include(double y) {
    if (!HasPlace(y, is_log_)) return;
    const double value = is_log_ ? std::log(y) : y;
    low_ = std::min(low_, value);
    high_ = std::max(high_, value);
  }
  bool IsEmpty() const { return low_ > high_; }
  double low() const { return low_; }
  double high() const { return high_; }

 private:
  const bool is_log_;
  double low_ = std::numeric_limits<double>::infinity();
  double high_ = -std::numeric_limits<double>::infinity();
};

// Returns a range that contains all means, intervals, dots and lines. The
// intervals stay whole even if they are much wider than the distances between
// the means: a chart that cuts them would show differences that the
// measurements do not support.
Interval YRange(const LineChart& chart) {
  if (chart.y_range.has_value()) return *chart.y_range;
  Extent extent(chart.log_y);
  for (const Curve& curve : chart.curves) {
    for (const CurvePoint& point : curve.points) {
      if (!IsShown(chart, point)) continue;
      extent.Include(point.y);
      extent.Include(std::max(point.high, point.y));
      extent.Include(std::min(point.low, point.y));
    }
    for (const Point& dot : curve.dots) {
      if (HasPlace(dot.x, chart.log_x)) extent.Include(dot.y);
    }
  }
  if (extent.IsEmpty()) return chart.log_y ? Interval{1, 10} : Interval{0, 1};
  for (const ReferenceLine& line : LinesOf(chart)) extent.Include(line.y);
  double low = extent.low();
  double high = extent.high();
  // A difference of logarithms is already relative.
  const double size = chart.log_y ? 1 : std::max(std::abs(low), std::abs(high));
  const double span =
      high - low > kMinSpan * size ? high - low : 0.1 * std::max(1e-3, size);
  low -= 0.06 * span;
  high += 0.06 * span;
  if (chart.log_y) {
    // Approximate logarithm of the largest drawable value.
    constexpr double kMaxLog = 690;
    return {std::exp(std::max(low, -kMaxLog)),
            std::exp(std::min(high, kMaxLog))};
  }
  return {low, high};
}

double LongestName(const LineChart& chart) {
  if (!chart.names) return 0;
  double longest = 0;
  for (const ReferenceLine& line : LinesOf(chart)) {
    longest = std::max(longest, TextWidth(line.label, kLabelSize));
  }
  for (const Curve& curve : chart.curves) {
    longest = std::max(longest, TextWidth(curve.name, kLabelSize));
  }
  return std::min(longest, 0.3 * chart.width);
}

// Returns the hover text of a point.
std::string HoverText(const LineChart& chart, const Curve& curve,
                      const CurvePoint& point) {
  std::string text = absl::StrCat(curve.name, " at ", ShortNumber(point.x),
                                  ": ", ShortNumber(point.y));
  if (point.high > point.low) {
    absl::StrAppend(&text, " (95 %: ", ShortNumber(point.low), " to ",
                    ShortNumber(point.high), ")");
  }
  return text;
}

class ChartDrawer {
 public:
  explicit ChartDrawer(const LineChart& chart)
      : chart_(chart),
        frame_(MakeFrame({.title = chart.title,
                          .note = chart.note,
                          .x_label = chart.x_label,
                          .y_label = chart.y_label,
                          .x_range = XRange(chart),
                          .y_range = YRange(chart),
                          .x_ticks = chart.x_ticks,
                          .x_tick_labels = chart.x_tick_labels,
                          .log_x = chart.log_x,
                          .log_y = chart.log_y,
                          .right = chart.names ? LongestName(chart) + 24 : 0,
                          .headroom = chart.marked_x.has_value() ? 18.0 : 0.0,
                          .width = chart.width,
                          .height = chart.height,
                          .title_size = chart.title_size})) {}

  Scene Draw() {
    Scene scene{.width = chart_.width,
                .height = chart_.height,
                .title = chart_.title,
                .description = chart_.description};
    shapes_ = &scene.shapes;
    DrawMark();
    scene.shapes.insert(scene.shapes.end(), frame_.shapes.begin(),
                        frame_.shapes.end());
    DrawReferences();
    for (const Curve& curve : chart_.curves) DrawBand(curve);
    for (const Curve& curve : chart_.curves) DrawDots(curve);
    for (const Curve& curve : chart_.curves) DrawCurve(curve);
    if (chart_.names) DrawNames();
    return scene;
  }

 private:
  void Add(Shape shape) { shapes_->push_back(std::move(shape)); }

  void DrawMark() {
    if (!chart_.marked_x.has_value()) return;
    const double x = frame_.x.Clamped(*chart_.marked_x);
    const double top = frame_.area.low_y;
    Add(Rect{.corner = {x, top},
             .width = frame_.area.high_x - x,
             .height = frame_.area.high_y - top,
             .style = {.fill = Role::kGrid, .opacity = 0.4}});
    Add(Path{
        .points = {{x, top - 4}, {x, frame_.area.high_y}},
        .style = {
            .stroke = Role::kQuiet, .stroke_width = 1.2, .dashes = {3, 3}}});
    const std::string label =
        absl::StrCat(chart_.marked_label, " \xe2\x86\x92");
    const bool fits = x + TextWidth(label, 11.5) + 6 < frame_.area.high_x;
    Add(Text{.at = {x + (fits ? 5 : -5), top + 12},
             .text = label,
             .size = 11.5,
             .anchor = fits ? Anchor::kStart : Anchor::kEnd,
             .color = Role::kQuiet});
  }

  void DrawReferences() {
    for (const ReferenceLine& line : LinesOf(chart_)) {
      const double y = frame_.y.Clamped(line.y);
      Add(Path{.points = {{frame_.area.low_x, y}, {frame_.area.high_x, y}},
               .style = {.stroke = Role::kQuiet,
                         .stroke_width = 1.2,
                         .dashes = {1.5, 4}},
               .hover = absl::StrCat(line.label, ": ", ShortNumber(line.y))});
    }
  }

  void DrawDots(const Curve& curve) {
    for (const Point& dot : curve.dots) {
      if (!HasPlace(dot.x, chart_.log_x) || !HasPlace(dot.y, chart_.log_y)) {
        continue;
      }
      Add(Circle{.center = {frame_.x.At(dot.x), frame_.y.Clamped(dot.y)},
                 .radius = 2.1,
                 .style = {.fill = SeriesRole(curve.series),
                           .opacity = curve.pale ? 0.3 : 0.55},
                 .hover = absl::StrCat(curve.name, " at ", ShortNumber(dot.x),
                                       ": ", ShortNumber(dot.y))});
    }
  }

  std::vector<CurvePoint> Shown(const Curve& curve) const {
    std::vector<CurvePoint> points;
    for (const CurvePoint& point : curve.points) {
      if (IsShown(chart_, point)) points.push_back(point);
    }
    return points;
  }

  Point PlaceOf(const CurvePoint& point) const {
    return {frame_.x.At(point.x), frame_.y.Clamped(point.y)};
  }

  void DrawBand(const Curve& curve) {
    const std::vector<CurvePoint> points = Shown(curve);
    Path band{.closed = true,
              .style = {.fill = SeriesRole(curve.series),
                        .opacity = curve.pale ? 0.05 : 0.13}};
    bool wide = false;
    // An end that is NaN is replaced by the mean.
    const auto add = [&](const CurvePoint& point, double end) {
      band.points.push_back(
          {frame_.x.At(point.x),
           frame_.y.Clamped(std::isnan(end) ? point.y : end)});
    };
    for (const CurvePoint& point : points) {
      wide |= point.high > point.low;
      add(point, point.high);
    }
    for (size_t n = points.size(); n-- > 0;) add(points[n], points[n].low);
    if (wide) Add(std::move(band));
  }

  void DrawCurve(const Curve& curve) {
    const double opacity = curve.pale ? 0.45 : 1;
    Path line{.style = {.stroke = SeriesRole(curve.series),
                        .stroke_width = chart_.markers ? 2.2 : 1.8,
                        .opacity = opacity}};
    line.style.dashes = SeriesDashes(curve.series);
    const auto flush = [&] {
      if (line.points.size() > 1) Add(line);
      line.points.clear();
    };
    for (const CurvePoint& point : curve.points) {
      if (IsShown(chart_, point)) {
        line.points.push_back(PlaceOf(point));
      } else {
        flush();
      }
    }
    flush();
    if (!chart_.markers) return;
    for (const CurvePoint& point : Shown(curve)) {
      Shape marker = SeriesMarker(curve.series, PlaceOf(point),
                                  HoverText(chart_, curve, point));
      std::visit(
          [opacity](auto& shape) {
            if constexpr (requires { shape.style; }) {
              shape.style.opacity = opacity;
            }
          },
          marker);
      Add(std::move(marker));
    }
  }

  // A name at the right and the end of its curve.
  struct Named {
    Point end;
    std::string name;
    Role role;
  };

  std::vector<Named> NamedEnds() const {
    std::vector<Named> named;
    for (const Curve& curve : chart_.curves) {
      const std::vector<CurvePoint> points = Shown(curve);
      if (points.empty()) continue;
      named.push_back(
          {PlaceOf(points.back()), curve.name, SeriesRole(curve.series)});
    }
    for (const ReferenceLine& line : LinesOf(chart_)) {
      named.push_back({{frame_.area.high_x - 6, frame_.y.Clamped(line.y)},
                       line.label,
                       Role::kQuiet});
    }
    return named;
  }

  // Draws the names at the ends of the curves, each connected by a thin line.
  void DrawNames() {
    const std::vector<Named> named = NamedEnds();
    std::vector<double> wanted;
    wanted.reserve(named.size());
    for (const Named& each : named) wanted.push_back(each.end.y);
    const std::vector<double> places = SeparateLabels(
        wanted, kLabelSize + 3.5, {frame_.area.low_y, frame_.area.high_y});
    const double left = frame_.area.high_x + 20;
    for (size_t i = 0; i < named.size(); ++i) {
      const auto& [end, name, role] = named[i];
      Add(Path{.points = {{end.x + 6, end.y},
                          {frame_.area.high_x + 9, end.y},
                          {left - 4, places[i]}},
               .style = {.stroke = role, .stroke_width = 0.9, .opacity = 0.6}});
      Add(Text{.at = {left, places[i] + 0.35 * kLabelSize},
               .text = Ellipsized(name, kLabelSize, 0.3 * chart_.width),
               .size = kLabelSize,
               .color = role});
    }
  }

  const LineChart& chart_;
  const Frame frame_;
  std::vector<Shape>* shapes_ = nullptr;
};

}  // namespace

Scene DrawLineChart(const LineChart& chart) {
  return ChartDrawer(chart).Draw();
}

}  // namespace locus::client::plot
