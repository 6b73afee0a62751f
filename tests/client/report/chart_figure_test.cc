#include "client/report/chart_figure.h"

#include <cmath>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace locus::client {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// Returns a figure with two curves.
ChartFigure SomeFigure() {
  ChartFigure figure{.name = "nll"};
  figure.chart = {.title = "Loss", .x_label = "tokens", .y_label = "nats"};
  figure.chart.curves = {
      {.name = "rope", .points = {{64, 2, 1.5, 2.5}, {128, 3, 3, 3}}},
      {.name = "alibi",
       .points = {{64, 1, 1, 1}, {128, std::nan(""), 1, 1}},
       .series = 1}};
  return figure;
}

// Returns the data for the script.
nlohmann::json DataOf(const std::string& html) {
  const std::string start = "<script type=\"application/json\">";
  const size_t begin = html.find(start) + start.size();
  return nlohmann::json::parse(
      html.substr(begin, html.find("</script>") - begin));
}

TEST(ChartFigureTest, DataHasPointsAndIntervals) {
  const nlohmann::json data = DataOf(FigureHtml(SomeFigure()));
  EXPECT_EQ(data["name"], "nll");
  EXPECT_EQ(data["series"][0]["points"],
            nlohmann::json::parse("[[64.0,2.0,1.5,2.5],[128.0,3.0]]"));
  EXPECT_TRUE(data["series"][1]["points"][1][1].is_null());
}

TEST(ChartFigureTest, NamesCannotEndTheDataElement) {
  ChartFigure figure = SomeFigure();
  figure.chart.curves[0].name = "</script><img src=x>";
  const std::string html = FigureHtml(figure);
  EXPECT_THAT(html, Not(HasSubstr("<img")));
  EXPECT_EQ(DataOf(html)["series"][0]["name"], "</script><img src=x>");
}

TEST(ChartFigureTest, LegendIsUsableWithoutScript) {
  const std::string html = FigureHtml(SomeFigure());
  EXPECT_THAT(html, HasSubstr("disabled data-name=\"alibi\""));
  EXPECT_THAT(html, HasSubstr("</svg>\nalibi</button>"));
}

TEST(ChartFigureTest, SmallChartsHaveNoLegend) {
  ChartFigure figure = SomeFigure();
  figure.small = true;
  EXPECT_THAT(FigureHtml(figure), Not(HasSubstr("<button")));
}

TEST(ChartFigureTest, HistogramIsDrawnAsSteps) {
  ChartFigure figure = SomeFigure();
  figure.shape = ChartFigure::Shape::kSteps;
  figure.chart.markers = false;
  figure.chart.curves = {
      {.name = "calls", .points = {{1, 10}, {2, 5}, {3, 0}}}};
  const std::string html = FigureHtml(figure);
  EXPECT_EQ(DataOf(html)["shape"], "steps");
  // The outline has two corners for each end of a bin but the first.
  const size_t path = html.find("class=\"ls-5\"");
  const size_t start = html.rfind("d=\"", path);
  const std::string line = html.substr(start, path - start);
  EXPECT_EQ(std::count(line.begin(), line.end(), 'L'), 4);
}

TEST(ChartFigureTest, DotsAreDrawnWithoutLines) {
  ChartFigure figure = SomeFigure();
  figure.shape = ChartFigure::Shape::kDots;
  figure.chart.curves.resize(1);
  const std::string html = FigureHtml(figure);
  EXPECT_EQ(html.find("class=\"ls-5\""), std::string::npos);
  EXPECT_THAT(html, HasSubstr("<circle"));
}

}  // namespace
}  // namespace locus::client
