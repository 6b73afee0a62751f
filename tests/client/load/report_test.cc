#include "client/load/report.h"

#include <cstdlib>
#include <fstream>

#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/support/temporary_folder.h"

namespace locus::client::load {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

// Returns a report of 1000 calls of 1 to 1000 us and two failed calls.
Report SomeReport() {
  Report report;
  Result& result = report.result;
  result.setup = {.server = "127.0.0.1:50051",
                  .method = "/locus.v1.EncodingService/Encode",
                  .request_bytes = 21,
                  .load = "500/s constant",
                  .offered_rate = 500,
                  .connections = 2,
                  .threads = 1,
                  .warm_up_seconds = 1,
                  .duration_seconds = 2};
  for (int64_t i = 1; i <= 1000; ++i) {
    result.statistics.Add({.intended = 0,
                           .started = 500,
                           .ended = i * 1000,
                           .queue_nanos = 3000,
                           .compute_nanos = 20000});
  }
  for (int i = 0; i < 2; ++i) {
    result.statistics.Add(
        {.ended = 5000, .code = absl::StatusCode::kUnavailable});
  }
  result.measured_seconds = 2;
  result.timeline = {{.from_seconds = 0, .to_seconds = 1, .ok = 400},
                     {.from_seconds = 1,
                      .to_seconds = 2.5,
                      .ok = 600,
                      .failed = 2,
                      .in_flight = 1,
                      .p50 = 500000}};
  result.cost = {.wall_seconds = 3,
                 .calls = 1402,
                 .thread_cpu_seconds = 0.02804,
                 .busiest_thread = 0.01,
                 .process_cpu_seconds = 0.05};
  return report;
}

TEST(JsonReportTest, ContainsEveryFigure) {
  const auto json = nlohmann::json::parse(JsonReport(SomeReport()));
  EXPECT_EQ(json["setup"]["method"], "/locus.v1.EncodingService/Encode");
  EXPECT_EQ(json["setup"]["connections"], 2);
  EXPECT_EQ(json["throughput"], 500);
  EXPECT_EQ(json["statuses"],
            nlohmann::json({{"OK", 1000}, {"UNAVAILABLE", 2}}));
  EXPECT_NEAR(json["latency_us"]["p99.99"], 1000, 1);
  EXPECT_NEAR(json["latency_us"]["p50"], 500, 0.5);
  EXPECT_NEAR(json["service_us"]["max"], 999.5, 1e-9);
  EXPECT_EQ(json["compute_us"]["mean"], 20);
  EXPECT_NEAR(json["client"]["cpu_us_per_call"], 20, 1e-9);
  EXPECT_THAT(json["timeline"], SizeIs(2));
  EXPECT_FALSE(json.contains("search"));
}

TEST(JsonReportTest, ContainsSearch) {
  Report report = SomeReport();
  report.search = {.slos = {"p99=5ms"},
                   .trials = {{.rate = 100,
                               .throughput = 99,
                               .meets_slos = true,
                               .measured = {4e6}},
                              {.rate = 200, .violations = {"p99 is 7ms"}}},
                   .best = 100};
  const auto json = nlohmann::json::parse(JsonReport(report));
  EXPECT_EQ(json["search"]["best_rate"], 100);
  EXPECT_EQ(json["search"]["trials"][1]["violations"][0], "p99 is 7ms");
  EXPECT_EQ(json["search"]["trials"][0]["measured"][0], 4e6);
  EXPECT_EQ(json["search"]["trials"][0]["meets_slos"], true);
  EXPECT_EQ(json["search"]["slos"][0], "p99=5ms");
  report.search->best.reset();
  EXPECT_TRUE(nlohmann::json::parse(JsonReport(report))["search"]["best_rate"]
                  .is_null());
}

TEST(JsonReportTest, ParsesItsOwnOutput) {
  const Result before = SomeReport().result;
  const auto after = ParseJsonReport(JsonReport(SomeReport()));
  ASSERT_TRUE(after.ok()) << after.status();
  EXPECT_EQ(after->setup.load, before.setup.load);
  EXPECT_EQ(after->Throughput(), before.Throughput());
  EXPECT_EQ(after->ErrorRatio(), before.ErrorRatio());
  EXPECT_EQ(after->statistics.by_code, before.statistics.by_code);
  EXPECT_EQ(after->cost.calls, before.cost.calls);
  for (const NamedPercentile& percentile : kPercentiles) {
    EXPECT_EQ(after->statistics.latency.Percentile(percentile.percent),
              before.statistics.latency.Percentile(percentile.percent));
  }
  EXPECT_EQ(after->statistics.service.mean(), before.statistics.service.mean());
}

TEST(JsonReportTest, ParsesTimelineAndCommand) {
  Report report = SomeReport();
  report.result.setup.command = "locus load --rate 500";
  const auto after = ParseJsonReport(JsonReport(report));
  ASSERT_TRUE(after.ok()) << after.status();
  EXPECT_EQ(after->setup.command, "locus load --rate 500");
  ASSERT_THAT(after->timeline, SizeIs(2));
  EXPECT_EQ(after->timeline[1].to_seconds, 2.5);
  EXPECT_EQ(after->timeline[1].ok, 600);
  EXPECT_EQ(after->timeline[1].p50, 500000);
}

TEST(JsonReportTest, NamesCountsAndRatios) {
  Report report = SomeReport();
  report.result.delayed = 3;
  report.result.suppressed = 4;
  const auto json = nlohmann::json::parse(JsonReport(report));
  EXPECT_EQ(json["calls"]["delayed"], 3);
  EXPECT_EQ(json["calls"]["suppressed"], 4);
  EXPECT_NEAR(json["error_ratio"], 2.0 / 1002, 1e-12);
}

TEST(PercentileTest, HighPercentilesNeedTenCallsBeyondThem) {
  EXPECT_TRUE(HasEnoughCalls(99, 1));
  EXPECT_FALSE(HasEnoughCalls(99.9, 9999));
  EXPECT_TRUE(HasEnoughCalls(99.9, 10000));
  EXPECT_FALSE(HasEnoughCalls(99.99, 99999));
  EXPECT_TRUE(HasEnoughCalls(99.99, 100000));
}

TEST(JsonReportTest, RejectsOtherJson) {
  for (const char* text :
       {"", "{", "[]", "{}", "{\"format\": \"locus-load-2\"}",
        "{\"format\": \"locus-load-1\"}", "{\"format\": 7}"}) {
    const auto result = ParseJsonReport(text);
    EXPECT_FALSE(result.ok()) << text;
    EXPECT_THAT(std::string(result.status().message()), HasSubstr("is not a"));
  }
}

TEST(CsvReportTest, HasRowPerSecondAndTotal) {
  const std::vector<std::string> lines =
      absl::StrSplit(CsvReport(SomeReport()), '\n');
  ASSERT_THAT(lines, SizeIs(5));
  EXPECT_EQ(lines[1],
            "warm-up,0.000,1.000,400,0,0,400.0,0.000,0.000,0.000,0.000,0.000,"
            "0.000,0.000");
  EXPECT_THAT(lines[2], HasSubstr("second,1.000,2.500,600,2,1,400.0,500.000,"));
  EXPECT_THAT(lines[3], HasSubstr("all,1.000,3.000,1000,2,0,500.0,500."));
  EXPECT_EQ(lines[4], "");
  const auto columns = [](const std::string& line) {
    return std::count(line.begin(), line.end(), ',');
  };
  for (int i = 1; i < 4; ++i) EXPECT_EQ(columns(lines[i]), columns(lines[0]));
}

TEST(PrometheusReportTest, ContainsSummariesCountersAndGauges) {
  const std::string text = PrometheusReport(SomeReport());
  const std::string label = "{method=\"/locus.v1.EncodingService/Encode\"";
  EXPECT_THAT(text, HasSubstr("# TYPE locus_load_latency_seconds summary\n"));
  EXPECT_THAT(text, HasSubstr("locus_load_latency_seconds" + label +
                              ",quantile=\"0.9999\"} 0.001\n"));
  EXPECT_THAT(
      text, HasSubstr("locus_load_latency_seconds_count" + label + "} 1000\n"));
  EXPECT_THAT(text, HasSubstr("locus_load_calls_total" + label +
                              ",code=\"UNAVAILABLE\"} 2\n"));
  EXPECT_THAT(text, HasSubstr("locus_load_succeeded_calls_per_second" + label +
                              "} 500\n"));
}

TEST(PrometheusReportTest, EscapesLabels) {
  Report report = SomeReport();
  report.result.setup.method = "a\"b\\c\n";
  EXPECT_THAT(PrometheusReport(report),
              HasSubstr("{method=\"a\\\"b\\\\c\\n\""));
}

TEST(PrometheusReportTest, PassesPromtool) {
  if (std::system("command -v promtool >/dev/null") != 0) {
    GTEST_SKIP() << "promtool is not installed";
  }
  const TemporaryFolder folder;
  const std::string path = folder.Path("metrics");
  Report report = SomeReport();
  report.search = {.best = 100};
  std::ofstream(path) << PrometheusReport(report);
  EXPECT_EQ(std::system(("promtool check metrics < " + path).c_str()), 0);
}

}  // namespace
}  // namespace locus::client::load
