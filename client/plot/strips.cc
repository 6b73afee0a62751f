#include "client/plot/strips.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/plot/text.h"
#include "client/plot/theme.h"

namespace locus::client::plot {
namespace {

constexpr double kStripTickSize = 10.5;
constexpr double kStripNameSize = 12;
constexpr double kStripGap = 10;
constexpr double kMaxStripName = 190;

// The smallest interval with all drawable values of `of` over all points.
template <typename Of>
Interval ExtentOf(const std::vector<Strip>& strips, Of of) {
  Interval extent{std::numeric_limits<double>::infinity(),
                  -std::numeric_limits<double>::infinity()};
  for (const Strip& strip : strips) {
    for (const Curve& curve : strip.curves) {
      for (const CurvePoint& point : curve.points) {
        if (!IsDrawable(of(point))) continue;
        extent.low = std::min(extent.low, of(point));
        extent.high = std::max(extent.high, of(point));
      }
    }
  }
  return extent.low > extent.high ? Interval{0, 1} : extent;
}

Interval YRangeOf(const Strip& strip) {
  if (strip.y_range.has_value()) return *strip.y_range;
  return ExtentOf({strip}, [](const CurvePoint& point) { return point.y; });
}

class StripDrawer {
 public:
  explicit StripDrawer(const StripChart& chart) : chart_(chart) {}

  Scene Draw() {
    scene_ = {.width = chart_.width,
              .title = chart_.title,
              .description = chart_.description};
    double top = AddHeading(chart_.title, chart_.note, chart_.width,
                            scene_.shapes, chart_.title_size);
    top = AddLegend(chart_.legend, chart_.width, top, scene_.shapes) + 4;
    const double step = chart_.strip_height + kStripGap;
    const double bottom =
        top + step * static_cast<double>(chart_.strips.size()) - kStripGap;
    low_x_ = kChartMargin + LabelWidth() + 10;
    high_x_ = chart_.width - kChartMargin - NameWidth() - 12;
    const Scale x =
        Scale::Linear(ExtentOf(chart_.strips,
                               [](const CurvePoint& point) { return point.x; }),
                      {low_x_ + 4, high_x_ - 4});
    DrawXAxis(x, top, bottom);
    for (const Strip& strip : chart_.strips) {
      DrawStrip(strip, x, top);
      top += step;
    }
    scene_.height = bottom + (chart_.x_label.empty() ? 26 : 44);
    return std::move(scene_);
  }

 private:
  void Add(Shape shape) { scene_.shapes.push_back(std::move(shape)); }

  // The ends of a strip's y axis, and zero if it lies well between them.
  static std::vector<double> YTicks(const Strip& strip) {
    const Interval range = YRangeOf(strip);
    std::vector<double> ticks = {range.low};
    if (IsFlat(range)) return ticks;
    const double share = -range.low / (range.high - range.low);
    if (share > 0.25 && share < 0.75) ticks.push_back(0);
    ticks.push_back(range.high);
    return ticks;
  }

  double LabelWidth() const {
    double widest = 0;
    for (const Strip& strip : chart_.strips) {
      for (const double tick : YTicks(strip)) {
        widest = std::max(widest, TextWidth(ShortNumber(tick), kStripTickSize));
      }
    }
    return widest;
  }

  double NameWidth() const {
    double widest = 0;
    for (const Strip& strip : chart_.strips) {
      widest = std::max({widest, TextWidth(strip.name, 1.06 * kStripNameSize),
                         TextWidth(strip.note, kStripTickSize)});
    }
    // One pixel more, so that rounding cuts no name.
    return std::min({widest + 1, kMaxStripName, 0.35 * chart_.width});
  }

  void DrawXAxis(const Scale& x, double top, double bottom) {
    const std::vector<double> ticks =
        chart_.x_ticks.empty()
            ? NiceTicks(x.values(), chart_.width < 500 ? 5 : 8)
            : chart_.x_ticks;
    const std::vector<std::string> labels = TickLabels(ticks);
    double free_from = -1e9;
    for (size_t i = 0; i < ticks.size(); ++i) {
      const double at = x.At(ticks[i]);
      const double half = TextWidth(labels[i], kStripTickSize) / 2;
      if (at - half < free_from) continue;
      free_from = at + half + 6;
      Add(Path{.points = {{at, top}, {at, bottom + 5}},
               .style = {.stroke = Role::kGrid, .stroke_width = 0.8}});
      Add(Text{.at = {at, bottom + 6 + kStripTickSize},
               .text = labels[i],
               .size = kStripTickSize,
               .anchor = Anchor::kMiddle,
               .color = Role::kQuiet});
    }
    if (chart_.x_label.empty()) return;
    Add(Text{.at = {(low_x_ + high_x_) / 2, bottom + 24 + kStripTickSize},
             .text = chart_.x_label,
             .size = kStripTickSize,
             .anchor = Anchor::kMiddle,
             .color = Role::kQuiet});
  }

  void DrawStrip(const Strip& strip, const Scale& x, double top) {
    const double bottom = top + chart_.strip_height;
    const Scale y = Scale::Linear(YRangeOf(strip), {bottom - 5, top + 5});
    Add(Rect{.corner = {low_x_, top},
             .width = high_x_ - low_x_,
             .height = chart_.strip_height,
             .style = {.stroke = Role::kGrid}});
    for (const double tick : YTicks(strip)) {
      Add(Path{.points = {{low_x_, y.At(tick)}, {high_x_, y.At(tick)}},
               .style = {.stroke = Role::kGrid, .stroke_width = 0.8}});
      Add(Text{.at = {low_x_ - 6, y.At(tick) + 0.35 * kStripTickSize},
               .text = ShortNumber(tick),
               .size = kStripTickSize,
               .anchor = Anchor::kEnd,
               .color = Role::kQuiet});
    }
    for (const Curve& curve : strip.curves) DrawCurve(curve, x, y);
    DrawName(strip, (top + bottom) / 2);
  }

  void DrawCurve(const Curve& curve, const Scale& x, const Scale& y) {
    Path line{.style = {.stroke = SeriesRole(curve.series),
                        .stroke_width = 1.6,
                        .dashes = SeriesDashes(curve.series)}};
    for (const CurvePoint& point : curve.points) {
      if (!IsDrawable(point.x) || !IsDrawable(point.y)) continue;
      line.points.push_back({x.At(point.x), y.Clamped(point.y)});
    }
    if (line.points.size() > 1) Add(line);
    if (!chart_.markers && line.points.size() > 1) return;
    for (const CurvePoint& point : curve.points) {
      if (!IsDrawable(point.x) || !IsDrawable(point.y)) continue;
      Add(SeriesMarker(curve.series, {x.At(point.x), y.Clamped(point.y)},
                       absl::StrCat(curve.name, " at ", ShortNumber(point.x),
                                    ": ", ShortNumber(point.y))));
    }
  }

  void DrawName(const Strip& strip, double middle) {
    const double left = high_x_ + 12;
    const double width = chart_.width - kChartMargin - left;
    const bool has_note = !strip.note.empty();
    // The colour of the only curve, if no legend explains the colours.
    const bool colored = chart_.legend.empty() && strip.curves.size() == 1;
    Add(Text{.at = {left, middle + (has_note ? -3 : 0.35 * kStripNameSize)},
             .text = Ellipsized(strip.name, 1.06 * kStripNameSize, width),
             .size = kStripNameSize,
             .color = colored ? SeriesRole(strip.curves[0].series) : Role::kInk,
             .bold = true});
    if (!has_note) return;
    Add(Text{.at = {left, middle + kStripTickSize + 1},
             .text = Ellipsized(strip.note, kStripTickSize, width),
             .size = kStripTickSize,
             .color = Role::kQuiet});
  }

  const StripChart& chart_;
  double low_x_ = 0;
  double high_x_ = 0;
  Scene scene_;
};

}  // namespace

Scene DrawStrips(const StripChart& chart) { return StripDrawer(chart).Draw(); }

}  // namespace locus::client::plot
