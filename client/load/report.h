// What a run has to show, and the forms in which programs read it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "client/load/statistics.h"

namespace locus::client::load {

// One step of a search.
struct Trial {
  double rate = 0;
  double throughput = 0;
  bool holds = false;
  // Why not.
  std::vector<std::string> violations;
};

struct Search {
  // As they were written: "p99=5ms".
  std::vector<std::string> limits;
  std::vector<Trial> trials;
  // The highest rate that held; nothing if none did.
  std::optional<double> best;
  // The limit is beyond what the search was allowed to try.
  bool reached_max = false;
};

struct Report {
  // Of a search, the run at the best rate, or the last one.
  Result result;
  std::optional<Search> search;
  // Of the limits that make the command fail.
  std::vector<std::string> violations;
};

// The percentiles of every report.
struct NamedPercentile {
  double percent;
  // "p99.9".
  const char* name;
  // "0.999".
  const char* quantile;
};
constexpr NamedPercentile kPercentiles[] = {
    {50, "p50", "0.5"},         {75, "p75", "0.75"}, {90, "p90", "0.9"},
    {95, "p95", "0.95"},        {99, "p99", "0.99"}, {99.9, "p99.9", "0.999"},
    {99.99, "p99.99", "0.9999"}};

// Everything, with the histograms, on one line; times are microseconds unless
// their name says otherwise.
std::string JsonReport(const Report& report);
// A run saved as JSON, as far as a comparison needs it. INVALID_ARGUMENT says
// what is wrong with it.
absl::StatusOr<Result> ParseJsonReport(absl::string_view text);

// A row for each second and one for all that was measured, with a header.
std::string CsvReport(const Report& report);

// Prometheus' text format, for a file that the node exporter collects or for a
// push gateway.
std::string PrometheusReport(const Report& report);

}  // namespace locus::client::load
