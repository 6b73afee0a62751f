#include "server/http/openmetrics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>
#include <regex>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "server/observability/metrics.h"

namespace locus::server {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;

MetricFamily Family(const std::string& name, MetricType type,
                    const ClientMetric& metric) {
  return {name, "Help.", type, {metric}};
}

TEST(OpenMetricsTest, EndsWithEof) {
  EXPECT_EQ(SerializeOpenMetrics({}), "# EOF\n");
}

TEST(OpenMetricsTest, CountersHaveTheSuffixInSamplesOnly) {
  ClientMetric metric;
  metric.counter.value = 3;
  const std::string expected =
      "# TYPE a counter\n# HELP a Help.\na_total 3\n# EOF\n";
  EXPECT_EQ(
      SerializeOpenMetrics({Family("a_total", MetricType::Counter, metric)}),
      expected);
  EXPECT_EQ(SerializeOpenMetrics({Family("a", MetricType::Counter, metric)}),
            expected);
}

TEST(OpenMetricsTest, EscapesHelpAndLabels) {
  ClientMetric metric;
  metric.label = {{"x", "a\\b\"c\nd"}, {"y", ""}};
  metric.gauge.value = 0.1;
  EXPECT_EQ(
      SerializeOpenMetrics({{"g", "a\\b\"c\nd", MetricType::Gauge, {metric}}}),
      "# TYPE g gauge\n# HELP g a\\\\b\\\"c\\nd\n"
      "g{x=\"a\\\\b\\\"c\\nd\",y=\"\"} 0.1\n# EOF\n");
}

TEST(OpenMetricsTest, HistogramsHaveCanonicalBounds) {
  ClientMetric metric;
  metric.label = {{"m", "x"}};
  metric.histogram.sample_count = 4;
  metric.histogram.sample_sum = 2.5;
  const double infinity = std::numeric_limits<double>::infinity();
  metric.histogram.bucket = {{1, 0.005}, {3, 1}, {4, infinity}};
  EXPECT_EQ(SerializeOpenMetrics({Family("h", MetricType::Histogram, metric)}),
            "# TYPE h histogram\n# HELP h Help.\n"
            "h_bucket{m=\"x\",le=\"0.005\"} 1\n"
            "h_bucket{m=\"x\",le=\"1.0\"} 3\n"
            "h_bucket{m=\"x\",le=\"+Inf\"} 4\n"
            "h_count{m=\"x\"} 4\nh_sum{m=\"x\"} 2.5\n# EOF\n");
  metric.histogram.bucket.pop_back();
  EXPECT_TRUE(absl::StrContains(
      SerializeOpenMetrics({Family("h", MetricType::Histogram, metric)}),
      "h_bucket{m=\"x\",le=\"+Inf\"} 4\n"));
}

TEST(OpenMetricsTest, WritesSummariesAndSpecialNumbers) {
  ClientMetric metric;
  metric.summary.sample_count = 2;
  metric.summary.sample_sum = -std::numeric_limits<double>::infinity();
  metric.summary.quantile = {{0.5, std::nan("")}};
  metric.timestamp_ms = 1500;
  EXPECT_EQ(SerializeOpenMetrics({Family("s", MetricType::Summary, metric)}),
            "# TYPE s summary\n# HELP s Help.\n"
            "s{quantile=\"0.5\"} NaN 1.5\ns_count 2 1.5\ns_sum -Inf 1.5\n"
            "# EOF\n");
}

// A small parser of OpenMetrics. Returns the number of samples of each family,
// and fails the test if the text breaks a rule of the format.
std::map<std::string, int> ParseOpenMetrics(const std::string& text) {
  static const std::regex type(
      R"(# TYPE ([a-zA-Z_:][a-zA-Z0-9_:]*) (counter|gauge|histogram|unknown))");
  static const std::regex sample(
      R"re(([a-zA-Z_:][a-zA-Z0-9_:]*)(\{[a-z_]+="[^"\\]*"(,[a-z_]+="[^"\\]*")*\})? ([-+.0-9e]+|NaN|[+-]Inf))re");
  static const std::map<std::string, std::vector<std::string>> suffixes = {
      {"counter", {"_total"}},
      {"gauge", {""}},
      {"unknown", {""}},
      {"histogram", {"_bucket", "_count", "_sum"}}};
  std::map<std::string, int> samples;
  std::string family;
  std::string kind;
  const std::vector<std::string> lines = absl::StrSplit(text, '\n');
  EXPECT_GE(lines.size(), 2u);
  EXPECT_EQ(lines.back(), "") << "the last line ends with a line feed";
  EXPECT_EQ(lines[lines.size() - 2], "# EOF");
  for (size_t i = 0; i + 2 < lines.size(); ++i) {
    std::smatch match;
    if (std::regex_match(lines[i], match, type)) {
      family = match[1];
      kind = match[2];
      EXPECT_TRUE(samples.emplace(family, 0).second) << "twice: " << family;
      EXPECT_FALSE(kind == "counter" && absl::EndsWith(family, "_total"));
    } else if (absl::StartsWith(lines[i], "# HELP ")) {
      EXPECT_TRUE(
          absl::StartsWith(lines[i], absl::StrCat("# HELP ", family, " ")));
    } else if (std::regex_match(lines[i], match, sample)) {
      bool belongs = false;
      for (const std::string& suffix : suffixes.at(kind)) {
        belongs = belongs || match[1] == family + suffix;
      }
      EXPECT_TRUE(belongs) << lines[i] << " in " << family;
      ++samples[family];
    } else {
      ADD_FAILURE() << "malformed: " << lines[i];
    }
  }
  return samples;
}

TEST(OpenMetricsTest, AllMetricsOfTheServerAreValid) {
  Metrics metrics("1.2.3");
  metrics.AddMethod("locus.v1.EncodingService", "Encode", MethodType::kUnary);
  metrics.AddGauge("locus_slots", "Slots.", [] { return 2; });
  metrics.AddCounter("locus_lines_total", "Lines.", [] { return 5; });
  const std::string text = SerializeOpenMetrics(metrics.Collect());
  const std::map<std::string, int> samples = ParseOpenMetrics(text);
  EXPECT_EQ(samples.at("grpc_server_handled"), kGrpcCodeCount);
  EXPECT_EQ(samples.at("locus_lines"), 1);
  EXPECT_EQ(samples.at("locus_slots"), 1);
  EXPECT_EQ(samples.at("process_cpu_seconds"), 1);
  EXPECT_GT(samples.at("grpc_server_handling_seconds"), 3);
}

}  // namespace
}  // namespace locus::server
