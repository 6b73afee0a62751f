// Reports of a load test in machine-readable formats.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "client/load/statistics.h"

namespace locus::client::load {

// One trial of a search.
struct Trial {
  double rate = 0;
  double throughput = 0;
  bool meets_slos = false;
  // The measured value of each SLO of the search, in the unit of Slo::bound.
  std::vector<double> measured = {};
  // The SLOs that the trial missed, in words.
  std::vector<std::string> violations;
};

// A search for the highest rate that meets the SLOs.
struct Search {
  // The SLOs as the user wrote them, such as "p99=5ms".
  std::vector<std::string> slos;
  std::vector<Trial> trials;
  // The highest rate that met the SLOs; unset if none did.
  std::optional<double> best;
  // The maximum rate of the search met the SLOs, so the limit is higher.
  bool reached_max = false;
};

struct Report {
  // The result of the run; for a search, of the trial at the best rate, or of
  // the last trial if none met the SLOs.
  Result result;
  std::optional<Search> search;
  // Violations that make the command fail, in words.
  std::vector<std::string> violations;
};

// One of the percentiles that all reports contain.
struct NamedPercentile {
  double percent;
  // Name, such as "p99.9".
  const char* name;
  // Quantile label of Prometheus, such as "0.999".
  const char* quantile;
};
constexpr NamedPercentile kPercentiles[] = {
    {50, "p50", "0.5"},         {75, "p75", "0.75"}, {90, "p90", "0.9"},
    {95, "p95", "0.95"},        {99, "p99", "0.99"}, {99.9, "p99.9", "0.999"},
    {99.99, "p99.99", "0.9999"}};

// Whether so many calls suffice for a percentile. Percentiles beyond p99 need
// 10 / (1 - q) calls, that is, ten calls beyond them: with fewer, they are
// practically the maximum.
bool HasEnoughCalls(double percent, int64_t call_count);

// Formats the complete report, including histograms, as one line of JSON. Times
// are in microseconds unless their key has another unit.
std::string JsonReport(const Report& report);
// Parses the result of a JSON report, without the search. INVALID_ARGUMENT if
// the text is not a JSON report.
absl::StatusOr<Result> ParseJsonReport(absl::string_view text);

// Formats the report as CSV: a header, one row per second, and one row for the
// whole measurement.
std::string CsvReport(const Report& report);

// Formats the report in the Prometheus text format, for the textfile collector
// of the node exporter or a push gateway.
std::string PrometheusReport(const Report& report);

}  // namespace locus::client::load
