#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "client/load/report.h"

namespace locus::client::load {
namespace {

// Returns the HELP and TYPE lines of a metric.
std::string Head(const char* name, const char* type, const char* help) {
  return absl::StrCat("# HELP ", name, " ", help, "\n# TYPE ", name, " ", type,
                      "\n");
}

std::string Number(double value) { return absl::StrFormat("%.9g", value); }

// Returns the labels that every sample has.
std::string Labels(const Setup& setup) {
  const std::string method = absl::StrReplaceAll(
      setup.method, {{"\\", "\\\\"}, {"\"", "\\\""}, {"\n", "\\n"}});
  return absl::StrCat("method=\"", method, "\"");
}

std::string Summary(const char* name, const char* help,
                    const std::string& labels, const Histogram& histogram) {
  std::string text = Head(name, "summary", help);
  for (const NamedPercentile& percentile : kPercentiles) {
    absl::StrAppend(
        &text, name, "{", labels, ",quantile=\"", percentile.quantile, "\"} ",
        Number(static_cast<double>(histogram.Percentile(percentile.percent)) /
               1e9),
        "\n");
  }
  absl::StrAppend(&text, name, "_sum{", labels, "} ",
                  Number(histogram.sum() / 1e9), "\n");
  absl::StrAppend(&text, name, "_count{", labels, "} ", histogram.count(),
                  "\n");
  return text;
}

std::string Gauge(const char* name, const char* help, const std::string& labels,
                  double value) {
  return absl::StrCat(Head(name, "gauge", help), name, "{", labels, "} ",
                      Number(value), "\n");
}

std::string Calls(const std::string& labels, const Statistics& statistics) {
  constexpr char kName[] = "locus_load_calls_total";
  std::string text = Head(kName, "counter", "Calls by status.");
  for (int code = 0; code < kCodeCount; ++code) {
    // OK is always exported, so that rules can divide by it.
    if (code > 0 && statistics.by_code[code] == 0) continue;
    absl::StrAppend(
        &text, kName, "{", labels, ",code=\"",
        absl::StatusCodeToString(static_cast<absl::StatusCode>(code)), "\"} ",
        statistics.by_code[code], "\n");
  }
  return text;
}

}  // namespace

std::string PrometheusReport(const Report& report) {
  const Result& result = report.result;
  const Statistics& statistics = result.statistics;
  const std::string labels = Labels(result.setup);
  std::string text = absl::StrCat(
      Summary("locus_load_latency_seconds",
              "Time from the intended start of a call to its end.", labels,
              statistics.latency),
      Summary("locus_load_service_seconds",
              "Time from the actual start of a call to its end.", labels,
              statistics.service),
      Summary("locus_load_server_queue_seconds",
              "Time of calls in the queue of the server.", labels,
              statistics.queue),
      Summary("locus_load_server_compute_seconds",
              "Time of computation in the server.", labels, statistics.compute),
      Summary("locus_load_send_delay_seconds",
              "Delay between the intended and the actual start of a call.",
              labels, statistics.delay),
      Calls(labels, statistics));
  absl::StrAppend(
      &text,
      Gauge("locus_load_offered_calls_per_second",
            "Scheduled calls per second; 0 for a closed loop.", labels,
            result.setup.offered_rate),
      Gauge("locus_load_succeeded_calls_per_second",
            "Successful calls per second.", labels, result.Throughput()),
      Gauge("locus_load_error_ratio",
            "Fraction of scheduled calls that failed or were not sent.", labels,
            result.ErrorRatio()),
      Gauge("locus_load_measured_seconds", "Duration of the measurement.",
            labels, result.measured_seconds),
      Gauge("locus_load_client_cpu_seconds",
            "CPU time of the client's sending and receiving threads.", labels,
            result.cost.thread_cpu_seconds));
  if (report.search.has_value() && report.search->best.has_value()) {
    text +=
        Gauge("locus_load_highest_calls_per_second",
              "Highest rate that met the SLOs.", labels, *report.search->best);
  }
  return text;
}

}  // namespace locus::client::load
