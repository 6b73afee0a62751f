#include "client/report/load_page.h"

#include <cmath>
#include <string>

#include "client/report/load_figures.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace locus::client {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

// Returns a run of 1000 calls of 1 to 1000 ms.
load::Result SomeRun() {
  load::Result result;
  result.setup = {.server = "127.0.0.1:50051",
                  .method = "/locus.v1.EncodingService/Encode",
                  .load = "500/s constant",
                  .offered_rate = 500,
                  .warm_up_seconds = 1,
                  .command = "locus load --rate 500"};
  for (int64_t i = 1; i <= 1000; ++i) {
    result.statistics.Add({.ended = i * 1000000,
                           .queue_nanos = 100000000,
                           .compute_nanos = 200000000});
  }
  result.measured_seconds = 2;
  result.timeline = {{.from_seconds = 0, .to_seconds = 1, .ok = 400},
                     {.from_seconds = 1,
                      .to_seconds = 3,
                      .ok = 1000,
                      .p50 = 500000000,
                      .p99 = 990000000}};
  return result;
}

TEST(LoadPageTest, ShowsCommandTimesAndStatuses) {
  const std::string html = MakeLoadPage({.result = SomeRun()});
  EXPECT_THAT(html, HasSubstr("<code>locus load --rate 500</code>"));
  EXPECT_THAT(html, HasSubstr("<p class=\"winner\">p50 500ms, p99 990ms</p>"));
  EXPECT_THAT(html, HasSubstr("<th scope=\"row\">OK</th>"));
  EXPECT_THAT(html, HasSubstr("queue 100ms"));
  EXPECT_THAT(html, HasSubstr("elsewhere 200ms"));
}

TEST(LoadPageTest, EscapesTextOfTheRun) {
  load::Result run = SomeRun();
  run.setup.method = "/x/<script>";
  run.setup.server = "<script>";
  run.setup.command = "</code><script>";
  EXPECT_THAT(MakeLoadPage({.result = run}), Not(HasSubstr("<script>\n<")));
  EXPECT_THAT(MakeLoadPage({.result = run}), HasSubstr("&lt;script&gt;"));
}

TEST(LoadPageTest, RunWithoutCallsHasNoCharts) {
  const std::string html = MakeLoadPage({});
  EXPECT_THAT(html, HasSubstr("p50 not available"));
  EXPECT_THAT(html, Not(HasSubstr("chart-histogram")));
  EXPECT_THAT(html, Not(HasSubstr("nan")));
}

TEST(LoadPageTest, ShowsTheTrialsOfASearch) {
  load::Report report{.result = SomeRun()};
  report.search = {.slos = {"errors=0.1%", "p99=5ms"},
                   .trials = {{.rate = 200,
                               .measured = {0, 7e6},
                               .violations = {"p99 is 7ms, above 5ms"}},
                              {.rate = 100,
                               .throughput = 99,
                               .meets_slos = true,
                               .measured = {0, 4e6}}},
                   .best = 100};
  const std::string html = MakeLoadPage(report);
  EXPECT_THAT(html, HasSubstr("Highest rate that holds errors=0.1%, p99=5ms: "
                              "100/s"));
  EXPECT_THAT(html, HasSubstr("p99 is 7ms, above 5ms"));
  const ChartFigure figure = LadderFigure(*report.search);
  EXPECT_EQ(figure.chart.reference, 5);
  ASSERT_THAT(figure.chart.curves, SizeIs(2));
  EXPECT_EQ(figure.chart.curves[0].points[0].y, 4);
  EXPECT_EQ(figure.chart.curves[1].points[0].x, 200);
}

TEST(LoadPageTest, ComparesTwoRuns) {
  load::Result before = SomeRun();
  load::Result after = SomeRun();
  after.setup.load = "900/s constant";
  const load::Comparison comparison = load::Compare(before, after);
  const std::string html = MakeLoadComparisonPage(
      {.before = before, .after = after, .comparison = comparison});
  EXPECT_THAT(html, HasSubstr("No certain difference"));
  EXPECT_THAT(html, HasSubstr("The runs differ in load"));
  EXPECT_THAT(html, HasSubstr("before latency"));
  EXPECT_THAT(html, HasSubstr("after p99"));
}

TEST(LoadFiguresTest, PercentileCurveEndsAtTheMaximum) {
  const load::Result run = SomeRun();
  const ChartFigure figure = PercentileFigure({{"", &run}});
  const auto& points = figure.chart.curves[0].points;
  EXPECT_EQ(points.front().x, 1);
  EXPECT_NEAR(points[10].x, 10, 1e-9);
  EXPECT_NEAR(points[10].y, 900, 1);
  EXPECT_NEAR(points.back().y, 999, 1.5);
  EXPECT_THAT(figure.chart.x_tick_labels,
              ElementsAre("0 %", "50 %", "90 %", "99 %", "99.9 %"));
  EXPECT_EQ(figure.chart.marked_x, 100);
}

TEST(LoadFiguresTest, HistogramContainsAllCalls) {
  const load::Result run = SomeRun();
  const ChartFigure figure = HistogramFigure({{"", &run}});
  double percent = 0;
  for (const auto& point : figure.chart.curves[0].points) percent += point.y;
  EXPECT_NEAR(percent, 100, 1e-9);
  EXPECT_EQ(figure.chart.curves[0].points.back().y, 0);
}

TEST(LoadFiguresTest, RateIsPerSecond) {
  const load::Result run = SomeRun();
  const ChartFigure figure = RateFigure({{"", &run}});
  ASSERT_THAT(figure.chart.curves, SizeIs(1));
  EXPECT_EQ(figure.chart.curves[0].points[1].x, 2);
  EXPECT_EQ(figure.chart.curves[0].points[1].y, 500);
  EXPECT_EQ(figure.chart.marked_x, 1);
}

TEST(LoadFiguresTest, SecondsWithoutCallsAreGaps) {
  load::Result run = SomeRun();
  run.timeline[1].ok = 0;
  const ChartFigure figure = LatencyFigure({{"", &run}});
  EXPECT_TRUE(std::isnan(figure.chart.curves[0].points[1].y));
}

TEST(LoadFiguresTest, ServerTimesAreOptional) {
  load::Result run = SomeRun();
  run.statistics.queue.Clear();
  run.statistics.compute.Clear();
  EXPECT_THAT(SplitBars({{"", &run}}), IsEmpty());
}

}  // namespace
}  // namespace locus::client
