#include "server/http/openmetrics.h"

#include <charconv>
#include <cmath>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"

namespace locus::server {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;

std::string EscapeText(absl::string_view text) {
  return absl::StrReplaceAll(text,
                             {{"\\", "\\\\"}, {"\n", "\\n"}, {"\"", "\\\""}});
}

// Returns the shortest text that parses to the same number.
std::string NumberText(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "+Inf" : "-Inf";
  char text[32];
  const auto end = std::to_chars(text, text + sizeof(text), value).ptr;
  return {text, end};
}

// Numbers in labels are floats in a canonical form, such as 1.0.
std::string LabelNumber(double value) {
  std::string text = NumberText(value);
  if (text.find_first_of(".eIN") == std::string::npos) text += ".0";
  return text;
}

// Writes the samples of one time series.
class SampleWriter {
 public:
  SampleWriter(absl::string_view family, const ClientMetric& metric,
               std::string* out)
      : family_(family), metric_(metric), out_(*out) {}

  // `label` is an additional label, unless its name is empty.
  void Write(absl::string_view suffix, const std::string& value,
             const std::pair<std::string, std::string>& label = {}) {
    absl::StrAppend(&out_, family_, suffix);
    const char* separator = "{";
    for (const ClientMetric::Label& one : metric_.label) {
      absl::StrAppend(&out_, separator, one.name, "=\"", EscapeText(one.value),
                      "\"");
      separator = ",";
    }
    if (!label.first.empty()) {
      absl::StrAppend(&out_, separator, label.first, "=\"", label.second, "\"");
      separator = ",";
    }
    if (*separator == ',') absl::StrAppend(&out_, "}");
    absl::StrAppend(&out_, " ", value);
    if (metric_.timestamp_ms != 0) {
      absl::StrAppend(
          &out_, " ",
          NumberText(static_cast<double>(metric_.timestamp_ms) / 1000));
    }
    absl::StrAppend(&out_, "\n");
  }

 private:
  const absl::string_view family_;
  const ClientMetric& metric_;
  std::string& out_;
};

void WriteHistogram(const ClientMetric::Histogram& histogram,
                    SampleWriter* samples) {
  bool has_infinity = false;
  for (const ClientMetric::Bucket& bucket : histogram.bucket) {
    has_infinity = has_infinity || std::isinf(bucket.upper_bound);
    samples->Write("_bucket", absl::StrCat(bucket.cumulative_count),
                   {"le", LabelNumber(bucket.upper_bound)});
  }
  if (!has_infinity) {
    samples->Write("_bucket", absl::StrCat(histogram.sample_count),
                   {"le", "+Inf"});
  }
  samples->Write("_count", absl::StrCat(histogram.sample_count));
  samples->Write("_sum", NumberText(histogram.sample_sum));
}

void WriteSummary(const ClientMetric::Summary& summary, SampleWriter* samples) {
  for (const ClientMetric::Quantile& quantile : summary.quantile) {
    samples->Write("", NumberText(quantile.value),
                   {"quantile", LabelNumber(quantile.quantile)});
  }
  samples->Write("_count", absl::StrCat(summary.sample_count));
  samples->Write("_sum", NumberText(summary.sample_sum));
}

absl::string_view TypeName(MetricType type) {
  switch (type) {
    case MetricType::Counter:
      return "counter";
    case MetricType::Gauge:
      return "gauge";
    case MetricType::Summary:
      return "summary";
    case MetricType::Histogram:
      return "histogram";
    default:
      return "unknown";
  }
}

void WriteMetric(MetricType type, const ClientMetric& metric,
                 SampleWriter* samples) {
  switch (type) {
    case MetricType::Counter:
      return samples->Write("_total", NumberText(metric.counter.value));
    case MetricType::Gauge:
      return samples->Write("", NumberText(metric.gauge.value));
    case MetricType::Summary:
      return WriteSummary(metric.summary, samples);
    case MetricType::Histogram:
      return WriteHistogram(metric.histogram, samples);
    default:
      return samples->Write("", NumberText(metric.untyped.value));
  }
}

}  // namespace

std::string SerializeOpenMetrics(const std::vector<MetricFamily>& families) {
  std::string out;
  for (const MetricFamily& family : families) {
    // The name of a counter has no suffix, its sample has the suffix _total.
    absl::string_view name = family.name;
    if (family.type == MetricType::Counter)
      absl::ConsumeSuffix(&name, "_total");
    absl::StrAppend(&out, "# TYPE ", name, " ", TypeName(family.type), "\n",
                    "# HELP ", name, " ", EscapeText(family.help), "\n");
    for (const ClientMetric& metric : family.metric) {
      SampleWriter samples(name, metric, &out);
      WriteMetric(family.type, metric, &samples);
    }
  }
  absl::StrAppend(&out, "# EOF\n");
  return out;
}

}  // namespace locus::server
