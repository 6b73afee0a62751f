#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "client/load/report.h"

namespace locus::client::load {
namespace {

std::string Head(const char* name, const char* type, const char* help) {
  return absl::StrCat("# HELP ", name, " ", help, "\n# TYPE ", name, " ", type,
                      "\n");
}

std::string Number(double value) { return absl::StrFormat("%.9g", value); }

// What stands in braces beside every sample.
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
    // OK is there even at zero, for rules to divide by.
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
              "From the intended start of a call to its end.", labels,
              statistics.latency),
      Summary("locus_load_service_seconds",
              "From the actual start of a call to its end.", labels,
              statistics.service),
      Summary("locus_load_server_queue_seconds",
              "How long calls waited in the server.", labels, statistics.queue),
      Summary("locus_load_server_compute_seconds",
              "How long the server worked on calls.", labels,
              statistics.compute),
      Summary("locus_load_send_delay_seconds",
              "By how much calls left later than intended.", labels,
              statistics.delay),
      Calls(labels, statistics));
  absl::StrAppend(
      &text,
      Gauge("locus_load_offered_calls_per_second",
            "Calls a second that were to be made; 0 in closed loop.", labels,
            result.setup.offered_rate),
      Gauge("locus_load_succeeded_calls_per_second",
            "Calls a second that succeeded.", labels, result.Throughput()),
      Gauge("locus_load_error_ratio",
            "Calls that failed or were not sent, of all.", labels,
            result.ErrorShare()),
      Gauge("locus_load_measured_seconds", "How long was measured.", labels,
            result.measured_seconds),
      Gauge("locus_load_client_cpu_seconds",
            "Processor time of the client's sending and receiving threads.",
            labels, result.cost.thread_cpu_seconds));
  if (report.search.has_value() && report.search->best.has_value()) {
    text += Gauge("locus_load_highest_calls_per_second",
                  "The highest rate that held.", labels, *report.search->best);
  }
  return text;
}

}  // namespace locus::client::load
