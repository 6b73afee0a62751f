#include "client/cli/render/load_table.h"

#include <cmath>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "client/cli/render/table.h"
#include "client/cli/support/text_layout.h"
#include "client/load/bottleneck.h"
#include "client/load/units.h"

namespace locus::client {
namespace {

using load::FormatNanos;
using load::FormatRate;
using load::Histogram;
using load::Result;
using load::Statistics;

using Rows = std::vector<std::vector<std::string>>;

std::vector<std::string> TimesRow(const char* name,
                                  const Histogram& histogram) {
  std::vector<std::string> row = {name, absl::StrCat(histogram.count()),
                                  FormatNanos(histogram.mean())};
  for (const load::NamedPercentile& percentile : load::kPercentiles) {
    row.push_back(FormatNanos(
        static_cast<double>(histogram.Percentile(percentile.percent))));
  }
  row.push_back(FormatNanos(static_cast<double>(histogram.max())));
  return row;
}

std::string TimesTable(const Statistics& statistics) {
  Rows rows = {{"", "CALLS", "MEAN"}};
  for (const load::NamedPercentile& percentile : load::kPercentiles) {
    rows[0].push_back(absl::AsciiStrToUpper(percentile.name));
  }
  rows[0].push_back("MAX");
  rows.push_back(TimesRow("latency", statistics.latency));
  rows.push_back(TimesRow("service", statistics.service));
  if (statistics.queue.count() > 0) {
    rows.push_back(TimesRow("- queue", statistics.queue));
  }
  if (statistics.compute.count() > 0) {
    rows.push_back(TimesRow("- compute", statistics.compute));
    rows.push_back({"- elsewhere", absl::StrCat(statistics.service.count()),
                    FormatNanos(std::fmax(0, statistics.service.mean() -
                                                 statistics.queue.mean() -
                                                 statistics.compute.mean()))});
  }
  rows.push_back(TimesRow("sent late", statistics.delay));
  if (statistics.failed.count() > 0) {
    rows.push_back(TimesRow("failed", statistics.failed));
  }
  return FormatRows(rows);
}

std::string Heading(const load::Setup& setup) {
  std::string text =
      absl::StrCat(setup.method, " on ", setup.server, "\n", setup.load,
                   " for ", absl::StrFormat("%.4gs", setup.duration_seconds));
  if (setup.warm_up_seconds > 0) {
    absl::StrAppend(&text, absl::StrFormat(" after %.4gs of warm-up",
                                           setup.warm_up_seconds));
  }
  absl::StrAppend(&text, ", ", setup.connections,
                  setup.connections == 1 ? " connection" : " connections",
                  ", requests of ", load::FormatBytes(setup.request_bytes),
                  "\n");
  return text;
}

std::string CallCounts(const Result& result) {
  std::vector<std::string> parts;
  for (int code = 0; code < load::kCodeCount; ++code) {
    const int64_t count = result.statistics.by_code[code];
    if (count == 0 && code > 0) continue;
    parts.push_back(absl::StrCat(
        count, " ",
        absl::StatusCodeToString(static_cast<absl::StatusCode>(code))));
  }
  if (result.unsent > 0) {
    parts.push_back(absl::StrCat(result.unsent, " never sent"));
  }
  if (result.withheld > 0) {
    parts.push_back(absl::StrCat(result.withheld, " withheld on pushback"));
  }
  if (result.unfinished > 0) {
    parts.push_back(absl::StrCat(result.unfinished, " unfinished"));
  }
  return absl::StrJoin(parts, ", ");
}

std::string ClientCost(const load::ClientCost& cost) {
  if (cost.calls == 0 || cost.wall_seconds <= 0) return "no calls";
  return absl::StrCat(
      FormatNanos(cost.thread_cpu_seconds * 1e9 /
                  static_cast<double>(cost.calls)),
      " of processor time per call",
      absl::StrFormat("; busiest thread %.0f%%, process %.2f processors",
                      100 * cost.busiest_thread,
                      cost.process_cpu_seconds / cost.wall_seconds));
}

std::string FormatSearch(const load::Search& search) {
  Rows rows = {{"RATE", "SUCCEEDED", "HOLDS", "WHY NOT"}};
  for (const load::Trial& trial : search.trials) {
    rows.push_back({absl::StrCat(FormatRate(trial.rate), "/s"),
                    absl::StrCat(FormatRate(trial.throughput), "/s"),
                    trial.meets_slos ? "yes" : "no",
                    absl::StrJoin(trial.violations, "; ")});
  }
  const std::string slos = absl::StrJoin(search.slos, ", ");
  std::string text = FormatRows(rows);
  if (!search.best.has_value()) {
    absl::StrAppend(&text, "\nNo rate holds ", slos, ".\n");
  } else {
    absl::StrAppend(
        &text, "\nHighest rate that holds ", slos, ": ",
        FormatRate(*search.best), "/s",
        search.reached_max ? ", the maximum rate of the search" : "", "\n");
  }
  return text + "\n";
}

std::string Figure(const load::ComparedFigure& figure, double value) {
  switch (figure.unit) {
    case load::ComparedFigure::Unit::kPerSecond:
      return absl::StrCat(FormatRate(value), "/s");
    case load::ComparedFigure::Unit::kShare:
      return absl::StrFormat("%.3g%%", 100 * value);
    default:
      return FormatNanos(value);
  }
}

std::string Name(load::Verdict verdict) {
  switch (verdict) {
    case load::Verdict::kSame:
      return "same";
    case load::Verdict::kBetter:
      return "better";
    case load::Verdict::kWorse:
      return "WORSE";
    default:
      return "";
  }
}

}  // namespace

std::string FormatLoad(const load::Report& report) {
  const Result& result = report.result;
  std::string text;
  if (report.search.has_value()) text = FormatSearch(*report.search);
  absl::StrAppend(
      &text, result.interrupted ? "INTERRUPTED. Results so far:\n" : "",
      Heading(result.setup), "\n", TimesTable(result.statistics), "\n");
  std::string rate =
      absl::StrCat(FormatRate(result.Throughput()), "/s succeeded");
  if (result.setup.offered_rate > 0) {
    absl::StrAppend(&rate, " of ", FormatRate(result.setup.offered_rate),
                    "/s offered");
  }
  text += FormatRows({{"calls", CallCounts(result)},
                      {"rate", rate},
                      {"client", ClientCost(result.cost)}});
  for (const std::string& warning : load::MeasurementWarnings(result)) {
    absl::StrAppend(
        &text, "\n",
        WrapParagraph(absl::StrCat("Warning: ", warning), OutputColumns()));
  }
  return text;
}

std::string FormatComparison(const load::Comparison& comparison) {
  Rows rows = {{"", "BEFORE", "AFTER", "CHANGE", ""}};
  for (const load::ComparedFigure& figure : comparison.figures) {
    const double growth = figure.Growth();
    rows.push_back(
        {figure.name, Figure(figure, figure.before),
         Figure(figure, figure.after),
         std::isinf(growth) ? "new" : absl::StrFormat("%+.1f%%", 100 * growth),
         Name(figure.verdict)});
  }
  std::string text = FormatRows(rows);
  for (const std::string& difference : comparison.differences) {
    absl::StrAppend(
        &text, "\n",
        WrapParagraph(absl::StrCat("Warning: the runs differ in ", difference),
                      OutputColumns()));
  }
  return text;
}

}  // namespace locus::client
