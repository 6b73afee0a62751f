#include "client/report/load_page.h"

#include <cmath>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "client/load/bottleneck.h"
#include "client/load/units.h"
#include "client/plot/text.h"
#include "client/report/load_figures.h"
#include "client/report/page.h"

namespace locus::client {
namespace {

using load::FormatNanos;
using load::FormatRate;
using plot::Escape;

std::string MethodName(const std::string& method) {
  return method.substr(method.rfind('/') + 1);
}

// Returns the command of one of two runs.
std::string NamedCommand(const char* name, const std::string& command) {
  if (command.empty()) return "";
  return absl::StrCat("<p class=\"note\">", name, "</p>\n",
                      CommandBox(command));
}

std::string PercentText(double ratio) {
  return absl::StrFormat("%.3g %%", 100 * ratio);
}

std::string DurationFact(const load::Setup& setup) {
  return absl::StrFormat("%.4g s after %.4g s of warm-up",
                         setup.duration_seconds, setup.warm_up_seconds);
}

std::string SetupFacts(const load::Setup& setup) {
  return FactsLine(
      {setup.method, setup.server, setup.load, DurationFact(setup),
       absl::StrCat(setup.connections,
                    setup.connections == 1 ? " connection" : " connections"),
       absl::StrCat("requests of ", load::FormatBytes(setup.request_bytes))});
}

// Returns a percentile of the latency in words; "not available" if there are
// too few calls.
std::string LatencyText(const load::Result& result, double percent) {
  const load::Histogram& latency = result.statistics.latency;
  if (latency.count() == 0) return "not available";
  return FormatNanos(static_cast<double>(latency.Percentile(percent)));
}

std::string RateText(const load::Result& result) {
  std::string text =
      absl::StrCat(FormatRate(result.Throughput()), "/s succeeded");
  if (result.setup.offered_rate > 0) {
    absl::StrAppend(&text, " of ", FormatRate(result.setup.offered_rate),
                    "/s offered");
  }
  return text;
}

std::string SearchText(const load::Search& search) {
  const std::string slos = absl::StrJoin(search.slos, ", ");
  if (!search.best.has_value()) return absl::StrCat("No rate holds ", slos);
  return absl::StrCat("Highest rate that holds ", slos, ": ",
                      FormatRate(*search.best), "/s",
                      search.reached_max ? ", the maximum of the search" : "");
}

std::string ResultCard(const load::Report& report) {
  const load::Result& result = report.result;
  std::string html = "<section class=\"verdict\">\n";
  if (result.interrupted) {
    html +=
        "<p class=\"partial\"><strong>Interrupted.</strong> These are the "
        "results up to then.</p>\n";
  }
  const std::string times = absl::StrCat("p50 ", LatencyText(result, 50),
                                         ", p99 ", LatencyText(result, 99));
  absl::StrAppend(
      &html, "<p class=\"winner\">",
      Escape(report.search.has_value() ? SearchText(*report.search) : times),
      "</p>\n<p>",
      Escape(report.search.has_value()
                 ? absl::StrCat("At the best rate: ", times, ". ")
                 : ""),
      Escape(RateText(result)), "; ", Escape(PercentText(result.ErrorRatio())),
      " of the calls failed or were not sent.</p>\n");
  for (const std::string& violation : report.violations) {
    absl::StrAppend(&html, "<p class=\"failed\">", Escape(violation), "</p>\n");
  }
  for (const std::string& warning : load::MeasurementWarnings(result)) {
    absl::StrAppend(&html, "<p><strong>Warning:</strong> ", Escape(warning),
                    "</p>\n");
  }
  return html + "</section>\n";
}

std::string FiguresHtml(const std::vector<NamedRun>& runs) {
  std::string html;
  for (const ChartFigure& figure :
       {RateFigure(runs), LatencyFigure(runs), PercentileFigure(runs),
        HistogramFigure(runs)}) {
    if (!figure.chart.curves.empty()) html += FigureHtml(figure);
  }
  const std::string bars = SplitBars(runs);
  if (bars.empty()) return html;
  return absl::StrCat(
      html,
      "<h2>Parts of the service time</h2>\n<p class=\"note\">Means. Queue and "
      "compute time are reported by the server; elsewhere is the network and "
      "gRPC on both sides.</p>\n",
      bars);
}

std::string TimesCell(double nanos, bool known) {
  return known ? FormattedCell(nanos, FormatNanos(nanos))
               : "<td class=\"n\">\xe2\x80\x93</td>";
}

std::string TimesRow(const char* name, const load::Histogram& histogram) {
  if (histogram.count() == 0) return "";
  std::string row = absl::StrCat(
      RowHeading(name), NumberCell(static_cast<double>(histogram.count())),
      TimesCell(histogram.mean(), true));
  for (const load::NamedPercentile& percentile : load::kPercentiles) {
    row +=
        TimesCell(static_cast<double>(histogram.Percentile(percentile.percent)),
                  load::HasEnoughCalls(percentile.percent, histogram.count()));
  }
  return row + TimesCell(static_cast<double>(histogram.max()), true);
}

std::string TimesTable(const load::Statistics& statistics) {
  std::vector<Heading> headings = {{"time"}, {"calls", true}, {"mean", true}};
  for (const load::NamedPercentile& percentile : load::kPercentiles) {
    headings.push_back({percentile.name, true});
  }
  headings.push_back({"max", true});
  std::vector<std::string> rows = {TimesRow("latency", statistics.latency),
                                   TimesRow("service", statistics.service),
                                   TimesRow("queue", statistics.queue),
                                   TimesRow("compute", statistics.compute),
                                   TimesRow("sent late", statistics.delay),
                                   TimesRow("failed", statistics.failed)};
  std::erase(rows, "");
  return absl::StrCat(
      "<h2>Times</h2>\n<p class=\"note\">Latency counts from the intended "
      "start of a call, service time from the actual one. Percentiles beyond "
      "p99 need ten calls beyond them.</p>\n",
      HtmlTable("times", headings, rows));
}

std::string StatusTable(const load::Result& result) {
  int64_t total = result.unsent;
  for (const int64_t count : result.statistics.by_code) total += count;
  std::vector<std::string> rows;
  const auto add = [&](const std::string& name, int64_t count) {
    rows.push_back(
        absl::StrCat(RowHeading(name), NumberCell(static_cast<double>(count)),
                     FormattedCell(static_cast<double>(count),
                                   PercentText(static_cast<double>(count) /
                                               static_cast<double>(total)))));
  };
  for (int code = 0; code < load::kCodeCount; ++code) {
    const int64_t count = result.statistics.by_code[code];
    if (count == 0) continue;
    add(absl::StatusCodeToString(static_cast<absl::StatusCode>(code)), count);
  }
  if (result.unsent > 0) add("never sent", result.unsent);
  return absl::StrCat(
      "<h2>Status codes</h2>\n",
      HtmlTable("statuses", {{"status"}, {"calls", true}, {"share", true}},
                rows));
}

std::string OptionsTable(const load::Setup& setup) {
  const auto row = [](const char* name, const std::string& value) {
    return absl::StrCat(RowHeading(name), TextCell(value));
  };
  return Folded(
      "Options",
      HtmlTable("options", {{"option"}, {"value"}},
                {row("method", setup.method), row("server", setup.server),
                 row("load", setup.load), row("duration", DurationFact(setup)),
                 row("connections", absl::StrCat(setup.connections)),
                 row("threads", absl::StrCat(setup.threads)),
                 row("request", load::FormatBytes(setup.request_bytes))}));
}

std::string LadderHtml(const load::Search& search) {
  std::vector<std::string> rows;
  for (const load::Trial& trial : search.trials) {
    rows.push_back(absl::StrCat(
        FormattedCell(trial.rate, absl::StrCat(FormatRate(trial.rate), "/s")),
        FormattedCell(trial.throughput,
                      absl::StrCat(FormatRate(trial.throughput), "/s")),
        trial.meets_slos ? "<td>yes</td>" : "<td class=\"failed\">no</td>",
        TextCell(absl::StrJoin(trial.violations, "; "))));
  }
  const ChartFigure figure = LadderFigure(search);
  return absl::StrCat(figure.chart.curves.empty() ? "" : FigureHtml(figure),
                      HtmlTable("trials",
                                {{"rate", true},
                                 {"succeeded", true},
                                 {"holds"},
                                 {"missed objectives"}},
                                rows));
}

std::string FigureText(const load::ComparedFigure& figure, double value) {
  switch (figure.unit) {
    case load::ComparedFigure::Unit::kPerSecond:
      return absl::StrCat(FormatRate(value), "/s");
    case load::ComparedFigure::Unit::kShare:
      return PercentText(value);
    default:
      return FormatNanos(value);
  }
}

std::string VerdictCell(load::Verdict verdict) {
  switch (verdict) {
    case load::Verdict::kNone:
      return "<td></td>";
    case load::Verdict::kTooFewCalls:
      return "<td>too few calls</td>";
    case load::Verdict::kSame:
      return "<td>same</td>";
    case load::Verdict::kUncertain:
      return "<td>not certain</td>";
    case load::Verdict::kBetter:
      return "<td><strong>better</strong></td>";
    case load::Verdict::kWorse:
      return "<td class=\"failed\"><strong>worse</strong></td>";
  }
  return "";
}

// Returns the figures of both runs; of the headline, or the others.
std::string ComparedTable(const load::Comparison& comparison, bool headline) {
  std::vector<std::string> rows;
  for (const load::ComparedFigure& figure : comparison.figures) {
    if (figure.headline != headline) continue;
    const double growth = figure.Growth();
    const bool known = figure.verdict != load::Verdict::kTooFewCalls;
    const auto cell = [known](double value, const std::string& text) {
      return known ? FormattedCell(value, text)
                   : "<td class=\"n\">\xe2\x80\x93</td>";
    };
    rows.push_back(absl::StrCat(
        RowHeading(figure.name),
        cell(figure.before, FigureText(figure, figure.before)),
        cell(figure.after, FigureText(figure, figure.after)),
        cell(growth, std::isinf(growth)
                         ? "new"
                         : absl::StrFormat("%+.1f %%", 100 * growth)),
        VerdictCell(figure.verdict)));
  }
  return HtmlTable(headline ? "headline" : "others",
                   {{"figure"},
                    {"before", true},
                    {"after", true},
                    {"change", true},
                    {"verdict"}},
                   rows);
}

std::string ComparisonCard(const load::Comparison& comparison) {
  std::vector<std::string> better;
  std::vector<std::string> worse;
  for (const load::ComparedFigure& figure : comparison.figures) {
    if (!figure.headline) continue;
    if (figure.verdict == load::Verdict::kBetter) better.push_back(figure.name);
    if (figure.verdict == load::Verdict::kWorse) worse.push_back(figure.name);
  }
  std::string heading = "No certain difference";
  if (!worse.empty()) {
    heading = absl::StrCat("Worse: ", absl::StrJoin(worse, ", "));
  }
  if (!better.empty()) {
    heading = absl::StrCat(worse.empty() ? "" : absl::StrCat(heading, ". "),
                           "Better: ", absl::StrJoin(better, ", "));
  }
  std::string html = absl::StrCat(
      "<section class=\"verdict\">\n<p "
      "class=\"winner\">",
      Escape(heading), "</p>\n");
  for (const std::string& difference : comparison.differences) {
    absl::StrAppend(&html, "<p class=\"failed\">The runs differ in ",
                    Escape(difference), "</p>\n");
  }
  return html + "</section>\n";
}

}  // namespace

std::string MakeLoadPage(const load::Report& report) {
  const load::Result& result = report.result;
  const std::vector<NamedRun> runs = {{"", &result}};
  return MakePage(
      {.title = absl::StrCat("Load test: ", MethodName(result.setup.method)),
       .kicker = "Locus \xc2\xb7 load test",
       .body = absl::StrCat(
           CommandBox(result.setup.command), SetupFacts(result.setup),
           ResultCard(report),
           report.search.has_value() ? LadderHtml(*report.search) : "",
           FiguresHtml(runs), TimesTable(result.statistics),
           StatusTable(result), OptionsTable(result.setup))});
}

std::string MakeLoadComparisonPage(const LoadComparison& comparison) {
  const std::vector<NamedRun> runs = {{"before", &comparison.before},
                                      {"after", &comparison.after}};
  return MakePage(
      {.title = absl::StrCat("Load tests compared: ",
                             MethodName(comparison.after.setup.method)),
       .kicker = "Locus \xc2\xb7 comparison of two load tests",
       .body = absl::StrCat(
           CommandBox(comparison.command),
           NamedCommand("before", comparison.before.setup.command),
           NamedCommand("after", comparison.after.setup.command),
           SetupFacts(comparison.after.setup),
           ComparisonCard(comparison.comparison),
           ComparedTable(comparison.comparison, true),
           "<p class=\"note\">A figure is better or worse if the 95 % "
           "confidence intervals of the runs do not overlap. The intervals "
           "assume independent calls, so repeat both runs in alternation "
           "before you conclude anything.</p>\n",
           FiguresHtml(runs),
           Folded("All other figures",
                  ComparedTable(comparison.comparison, false)))});
}

}  // namespace locus::client
