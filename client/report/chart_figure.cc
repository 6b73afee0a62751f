#include "client/report/chart_figure.h"

#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "client/plot/svg.h"
#include "client/plot/text.h"
#include "client/plot/theme.h"
#include "nlohmann/json.hpp"

namespace locus::client {
namespace {

using FigureJson = nlohmann::ordered_json;
using Shape = ChartFigure::Shape;

// Returns the number, or null if it cannot be drawn.
FigureJson DrawableOrNull(double value) {
  return plot::IsDrawable(value) ? FigureJson(value) : FigureJson();
}

FigureJson PointsJson(const std::vector<plot::CurvePoint>& points) {
  FigureJson list = FigureJson::array();
  for (const plot::CurvePoint& point : points) {
    FigureJson json = {DrawableOrNull(point.x), DrawableOrNull(point.y)};
    if (point.high > point.low) {
      json.push_back(DrawableOrNull(point.low));
      json.push_back(DrawableOrNull(point.high));
    }
    list.push_back(std::move(json));
  }
  return list;
}

FigureJson CurvesJson(const ChartFigure& figure) {
  FigureJson list = FigureJson::array();
  for (size_t i = 0; i < figure.chart.curves.size(); ++i) {
    const plot::Curve& curve = figure.chart.curves[i];
    FigureJson json = {
        {"name", curve.name},
        {"color", static_cast<int>(plot::SeriesRole(curve.series))},
        {"points", PointsJson(curve.points)}};
    if (curve.pale) json["pale"] = true;
    if (i < figure.seeds.size() && !figure.seeds[i].empty()) {
      for (const plot::Point& dot : figure.seeds[i]) {
        if (!plot::IsDrawable(dot.y)) continue;
        json["dots"].push_back({dot.x, dot.y});
      }
    }
    list.push_back(std::move(json));
  }
  return list;
}

FigureJson XTicksJson(const plot::LineChart& chart) {
  if (chart.x_ticks.empty()) return {};
  const std::vector<std::string> labels = chart.x_tick_labels.empty()
                                              ? plot::TickLabels(chart.x_ticks)
                                              : chart.x_tick_labels;
  FigureJson list = FigureJson::array();
  for (size_t i = 0; i < chart.x_ticks.size(); ++i) {
    list.push_back({chart.x_ticks[i], labels[i]});
  }
  return list;
}

// Returns the data for the script. The characters < and & are escaped, so that
// no text can end the element.
std::string DataText(const ChartFigure& figure) {
  const plot::LineChart& chart = figure.chart;
  FigureJson json = {{"name", figure.name},      {"title", chart.title},
                     {"xLabel", chart.x_label},  {"yLabel", chart.y_label},
                     {"xLog", chart.log_x},      {"yLog", chart.log_y},
                     {"markers", chart.markers}, {"xTicks", XTicksJson(chart)}};
  if (figure.shape == Shape::kSteps) json["shape"] = "steps";
  if (figure.shape == Shape::kDots) json["shape"] = "dots";
  if (!figure.x_unit.empty()) json["xUnit"] = figure.x_unit;
  if (figure.small) json["small"] = true;
  if (chart.y_range.has_value()) {
    json["range"] = {chart.y_range->low, chart.y_range->high};
  }
  if (chart.marked_x.has_value()) {
    json["mark"] = {*chart.marked_x, chart.marked_label};
  }
  if (chart.reference.has_value()) {
    json["ref"] = {*chart.reference, chart.reference_label};
  }
  for (const ChartFigure::Unit& unit : figure.units) {
    json["units"].push_back({unit.name, unit.factor});
  }
  json["series"] = CurvesJson(figure);
  return absl::StrReplaceAll(
      json.dump(-1, ' ', false, FigureJson::error_handler_t::replace),
      {{"<", "\\u003c"}, {"&", "\\u0026"}});
}

// Returns the outline of a histogram.
std::vector<plot::CurvePoint> Outline(
    const std::vector<plot::CurvePoint>& points) {
  std::vector<plot::CurvePoint> outline;
  for (const plot::CurvePoint& point : points) {
    if (!outline.empty()) {
      const double y = outline.back().y;
      outline.push_back({point.x, y, y, y});
    }
    outline.push_back(point);
  }
  return outline;
}

// Returns the points with gaps between them, so that no lines are drawn.
std::vector<plot::CurvePoint> Isolated(
    const std::vector<plot::CurvePoint>& points) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  std::vector<plot::CurvePoint> isolated;
  for (const plot::CurvePoint& point : points) {
    isolated.push_back(point);
    isolated.push_back({point.x, kNan, kNan, kNan});
  }
  return isolated;
}

// Returns the drawing for readers without scripts. It is so narrow that its
// labels are readable on a phone.
std::string StaticSvg(const ChartFigure& figure) {
  plot::LineChart chart = figure.chart;
  chart.title.clear();
  chart.note.clear();
  chart.names = false;
  chart.width = figure.small ? 300 : 480;
  chart.height = figure.small ? 190 : 300;
  for (plot::Curve& curve : chart.curves) {
    if (figure.shape == Shape::kSteps) curve.points = Outline(curve.points);
    if (figure.shape == Shape::kDots) curve.points = Isolated(curve.points);
  }
  plot::Scene scene = plot::DrawLineChart(chart);
  scene.title = figure.chart.title;
  return plot::WriteSvg(scene, {.embedded = true});
}

// Returns a sample of a curve: its line and its marker at (14, 8), where the
// script expects it.
std::string Swatch(const ChartFigure& figure, const plot::Curve& curve) {
  plot::Path line{
      .points = {{2, 8}, {26, 8}},
      .style = {.stroke = plot::SeriesRole(curve.series), .stroke_width = 2}};
  line.style.dashes = plot::SeriesDashes(curve.series);
  std::vector<plot::Shape> shapes = {std::move(line)};
  if (figure.chart.markers) {
    shapes.push_back(plot::SeriesMarker(curve.series, {14, 8}, ""));
  }
  return plot::WriteSvg(
      {.width = 28, .height = 16, .shapes = std::move(shapes)},
      {.embedded = true});
}

std::string Legend(const ChartFigure& figure) {
  if (figure.small || figure.chart.curves.size() < 2) return "";
  std::string html = "<div class=\"legend\">";
  for (const plot::Curve& curve : figure.chart.curves) {
    const std::string name = plot::Escape(curve.name);
    absl::StrAppend(&html, "<button type=\"button\" disabled data-name=\"",
                    name, "\" aria-pressed=\"true\" title=\"Show or hide\">",
                    Swatch(figure, curve), name, "</button>");
  }
  return html + "</div>\n";
}

}  // namespace

std::string FigureHtml(const ChartFigure& figure) {
  return absl::StrCat(
      "<figure class=\"chart\" id=\"chart-", plot::Escape(figure.name),
      "\">\n<figcaption><strong>", plot::Escape(figure.chart.title),
      "</strong>",
      figure.chart.note.empty()
          ? ""
          : absl::StrCat(" <span>", plot::Escape(figure.chart.note), "</span>"),
      "</figcaption>\n<div class=\"canvas\"><div class=\"plot\">",
      StaticSvg(figure), "</div></div>\n", Legend(figure),
      "<script type=\"application/json\">", DataText(figure),
      "</script></figure>\n");
}

std::string SmallMultiples(const std::vector<ChartFigure>& figures) {
  std::string html = "<div class=\"multiples\">\n";
  for (const ChartFigure& figure : figures) html += FigureHtml(figure);
  return html + "</div>\n";
}

}  // namespace locus::client
