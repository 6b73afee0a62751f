#include "client/report/load_figures.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/load/slo.h"
#include "client/load/units.h"
#include "client/plot/text.h"

namespace locus::client {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

double Millis(double nanos) { return nanos / 1e6; }

plot::CurvePoint PlainPoint(double x, double y) { return {x, y, y, y}; }

// "before p99", or "p99" for a single run.
std::string SeriesName(const NamedRun& run, const std::string& what) {
  return run.name.empty() ? what : absl::StrCat(run.name, " ", what);
}

// Returns a curve over the seconds of a run; value(interval) is its y.
template <typename Value>
plot::Curve OverTime(const NamedRun& run, const std::string& what, int series,
                     Value value) {
  plot::Curve curve{.name = SeriesName(run, what), .series = series};
  for (const load::Interval& interval : run.result->timeline) {
    curve.points.push_back(PlainPoint(
        (interval.from_seconds + interval.to_seconds) / 2, value(interval)));
  }
  return curve;
}

// A chart over the time of the runs, which marks the end of the warm-up.
plot::LineChart TimeChart(const std::vector<NamedRun>& runs,
                          const std::string& title) {
  // More markers than this would hide the lines.
  constexpr size_t kMaxMarkers = 30;
  plot::LineChart chart{
      .title = title,
      .x_label = "seconds",
      .markers = runs.front().result->timeline.size() <= kMaxMarkers};
  const double warm_up = runs.front().result->setup.warm_up_seconds;
  if (warm_up > 0) {
    chart.marked_x = warm_up;
    chart.marked_label = "measured";
  }
  return chart;
}

// Returns the number of calls per second of `count` calls.
double PerSecond(const load::Interval& interval, int64_t count) {
  const double seconds = interval.to_seconds - interval.from_seconds;
  return seconds > 0 ? static_cast<double>(count) / seconds : kNan;
}

plot::Curve PercentileCurve(const std::string& name, int series,
                            const load::Histogram& histogram) {
  plot::Curve curve{.name = name, .series = series};
  // x is 1 / (1 - q): 1 is the minimum, 100 is p99.
  const auto count = static_cast<double>(histogram.count());
  constexpr int kPointsPerDecade = 10;
  for (int i = 0;; ++i) {
    const double x = std::pow(10, static_cast<double>(i) / kPointsPerDecade);
    if (x > count) break;
    const int64_t nanos = histogram.Percentile(100 * (1 - 1 / x));
    curve.points.push_back(PlainPoint(x, Millis(static_cast<double>(nanos))));
  }
  return curve;
}

// The ends of the bins of a histogram in nanoseconds, in equal ratios.
std::vector<double> BinEnds(const std::vector<NamedRun>& runs) {
  double low = std::numeric_limits<double>::infinity();
  double high = 0;
  for (const NamedRun& run : runs) {
    const load::Histogram& latency = run.result->statistics.latency;
    if (latency.count() == 0) continue;
    low = std::min(low, std::max(1.0, static_cast<double>(latency.min())));
    high = std::max(high, static_cast<double>(latency.max()));
  }
  std::vector<double> ends;
  if (low > high) return ends;
  high = std::max(high, 1.01 * low);
  constexpr int kBinCount = 48;
  for (int i = 0; i <= kBinCount; ++i) {
    ends.push_back(low *
                   std::pow(high / low, static_cast<double>(i) / kBinCount));
  }
  return ends;
}

plot::Curve HistogramCurve(const NamedRun& run, int series,
                           const std::vector<double>& ends) {
  const load::Histogram& latency = run.result->statistics.latency;
  std::vector<double> counts(ends.size(), 0);
  for (const load::Histogram::Bin& bin : latency.Bins()) {
    const auto at = std::upper_bound(ends.begin(), ends.end(),
                                     static_cast<double>(bin.nanos));
    const auto index = std::clamp<int64_t>(
        at - ends.begin() - 1, 0, static_cast<int64_t>(ends.size()) - 2);
    counts[index] += static_cast<double>(bin.count);
  }
  plot::Curve curve{.name = SeriesName(run, "calls"), .series = series};
  const auto total = static_cast<double>(latency.count());
  for (size_t i = 0; i < ends.size(); ++i) {
    curve.points.push_back(
        PlainPoint(Millis(ends[i]), total > 0 ? 100 * counts[i] / total : 0));
  }
  return curve;
}

// One part of the service time.
struct Part {
  const char* name;
  double nanos;
};

std::vector<Part> PartsOf(const load::Statistics& statistics) {
  const double queue = statistics.queue.mean();
  const double compute = statistics.compute.mean();
  return {{"queue", queue},
          {"compute", compute},
          {"elsewhere",
           std::max(0.0, statistics.service.mean() - queue - compute)}};
}

}  // namespace

ChartFigure RateFigure(const std::vector<NamedRun>& runs) {
  ChartFigure figure{.name = "rate",
                     .chart = TimeChart(runs, "Calls per second"),
                     .x_unit = "s"};
  figure.chart.y_label = "calls per second";
  int series = 0;
  for (const NamedRun& run : runs) {
    figure.chart.curves.push_back(OverTime(
        run, "succeeded", series++, [](const load::Interval& interval) {
          return PerSecond(interval, interval.ok);
        }));
    if (run.result->statistics.failed_count() == 0) continue;
    figure.chart.curves.push_back(
        OverTime(run, "failed", series++, [](const load::Interval& interval) {
          return PerSecond(interval, interval.failed);
        }));
  }
  const double offered = runs.front().result->setup.offered_rate;
  if (offered > 0) {
    figure.chart.reference = offered;
    figure.chart.reference_label = "offered on average";
  }
  double highest = offered;
  for (const plot::Curve& curve : figure.chart.curves) {
    for (const plot::CurvePoint& point : curve.points) {
      if (plot::IsDrawable(point.y)) highest = std::max(highest, point.y);
    }
  }
  figure.chart.y_range = plot::Interval{0, 1.1 * std::max(1.0, highest)};
  return figure;
}

ChartFigure LatencyFigure(const std::vector<NamedRun>& runs) {
  ChartFigure figure{.name = "latency",
                     .chart = TimeChart(runs, "Latency over time"),
                     .x_unit = "s"};
  figure.chart.note =
      "Percentiles of the calls that ended in each second, from the intended "
      "start of a call to its end.";
  figure.chart.y_label = "milliseconds";
  int series = 0;
  for (const NamedRun& run : runs) {
    const auto add = [&](const char* name, int64_t load::Interval::*member) {
      figure.chart.curves.push_back(OverTime(
          run, name, series++, [member](const load::Interval& interval) {
            return interval.ok > 0
                       ? Millis(static_cast<double>(interval.*member))
                       : kNan;
          }));
    };
    add("p50", &load::Interval::p50);
    add("p99", &load::Interval::p99);
    if (runs.size() == 1) add("max", &load::Interval::max);
  }
  return figure;
}

ChartFigure PercentileFigure(const std::vector<NamedRun>& runs) {
  ChartFigure figure{.name = "percentiles", .percentiles = true};
  plot::LineChart& chart = figure.chart;
  chart = {.title = "Latency by percentile",
           .x_label = "percentile",
           .y_label = "milliseconds",
           .log_x = true,
           .markers = false};
  int64_t count = 0;
  int64_t fewest = std::numeric_limits<int64_t>::max();
  for (size_t i = 0; i < runs.size(); ++i) {
    const load::Statistics& statistics = runs[i].result->statistics;
    count = std::max(count, statistics.latency.count());
    fewest = std::min(fewest, statistics.latency.count());
    chart.curves.push_back(PercentileCurve(SeriesName(runs[i], "latency"),
                                           static_cast<int>(2 * i),
                                           statistics.latency));
    if (runs.size() > 1) continue;
    chart.curves.push_back(PercentileCurve("service", 1, statistics.service));
  }
  const auto max_x = static_cast<double>(count);
  chart.x_ticks = {1, 2};
  chart.x_tick_labels = {"0 %", "50 %"};
  std::string label = "90 %";
  for (double x = 10; x <= max_x; x *= 10) {
    chart.x_ticks.push_back(x);
    chart.x_tick_labels.push_back(label);
    label = label == "90 %" ? "99 %"
            : label == "99 %"
                ? "99.9 %"
                : absl::StrCat(label.substr(0, label.size() - 2), "9 %");
  }
  if (fewest >= 20) {
    chart.marked_x = static_cast<double>(fewest) / 10;
    chart.marked_label = "fewer than 10 calls";
  }
  return figure;
}

ChartFigure HistogramFigure(const std::vector<NamedRun>& runs) {
  ChartFigure figure{
      .name = "histogram", .shape = ChartFigure::Shape::kSteps, .x_unit = "ms"};
  figure.chart = {.title = "Distribution of the latency",
                  .note = "The bins have equal ratios.",
                  .x_label = "milliseconds",
                  .y_label = "% of calls",
                  .log_x = true,
                  .markers = false};
  const std::vector<double> ends = BinEnds(runs);
  if (ends.empty()) return figure;
  figure.chart.x_ticks =
      plot::LogTicks({Millis(ends.front()), Millis(ends.back())});
  for (const double tick : figure.chart.x_ticks) {
    figure.chart.x_tick_labels.push_back(plot::ShortNumber(tick));
  }
  for (size_t i = 0; i < runs.size(); ++i) {
    figure.chart.curves.push_back(
        HistogramCurve(runs[i], static_cast<int>(2 * i), ends));
  }
  return figure;
}

ChartFigure LadderFigure(const load::Search& search) {
  ChartFigure figure{.name = "search",
                     .shape = ChartFigure::Shape::kDots,
                     .x_unit = "calls per second"};
  for (size_t i = 0; i < search.slos.size(); ++i) {
    const auto slo = load::ParseSlo(search.slos[i]);
    if (!slo.ok() || slo->metric == load::Slo::Metric::kErrors) continue;
    const std::string name = slo->text.substr(0, slo->text.find('='));
    figure.chart = {.title = absl::StrCat("Trials of the search: ", name),
                    .note =
                        "Each dot is a trial at one rate. A rate is given "
                        "up after two trials that miss an objective.",
                    .x_label = "calls per second",
                    .y_label = absl::StrCat(name, ", milliseconds"),
                    .log_x = true,
                    .log_y = true,
                    .reference = Millis(slo->bound),
                    .reference_label = slo->text};
    plot::Curve met{.name = "met the objectives", .series = 2};
    plot::Curve missed{.name = "missed an objective", .series = 9};
    for (const load::Trial& trial : search.trials) {
      if (i >= trial.measured.size()) continue;
      (trial.meets_slos ? met : missed)
          .points.push_back(PlainPoint(trial.rate, Millis(trial.measured[i])));
    }
    for (plot::Curve* curve : {&met, &missed}) {
      std::stable_sort(curve->points.begin(), curve->points.end(),
                       [](const auto& a, const auto& b) { return a.x < b.x; });
      if (!curve->points.empty()) figure.chart.curves.push_back(*curve);
    }
    return figure;
  }
  return figure;
}

std::string SplitBars(const std::vector<NamedRun>& runs) {
  double longest = 0;
  for (const NamedRun& run : runs) {
    if (run.result->statistics.compute.count() == 0) return "";
    longest = std::max(longest, run.result->statistics.service.mean());
  }
  if (longest <= 0) return "";
  std::string html;
  for (const NamedRun& run : runs) {
    std::string bar;
    std::string keys;
    double left = 0;
    int role = static_cast<int>(plot::Role::kSeries);
    for (const Part& part : PartsOf(run.result->statistics)) {
      const double width = 100 * part.nanos / longest;
      absl::StrAppend(&bar,
                      absl::StrFormat("<rect x=\"%.3f%%\" width=\"%.3f%%\" "
                                      "height=\"100%%\" class=\"lf-%d\"/>",
                                      left, width, role));
      absl::StrAppend(&keys, "<li><i class=\"key lb-", role, "\"></i>",
                      part.name, " ", load::FormatNanos(part.nanos), "</li>");
      left += width;
      ++role;
    }
    absl::StrAppend(
        &html,
        run.name.empty() ? ""
                         : absl::StrCat("<p class=\"note\">",
                                        plot::Escape(run.name), "</p>\n"),
        "<svg class=\"bar\" role=\"img\" aria-label=\"Parts of the service "
        "time\">",
        bar, "</svg>\n<ul class=\"keys\">", keys, "</ul>\n");
  }
  return html;
}

}  // namespace locus::client
