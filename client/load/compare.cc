#include "client/load/compare.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "client/load/report.h"

namespace locus::client::load {
namespace {

// 97.5 % quantile of the normal distribution, for two-sided 95 % intervals.
constexpr double kNormalQuantile = 1.96;

struct ConfidenceInterval {
  double low = 0;
  double high = 0;
};

// Returns the distribution-free 95 % confidence interval of a percentile. Its
// bounds are order statistics whose ranks follow from the normal approximation
// of the binomial distribution. Unbounded above if the sample is too small.
ConfidenceInterval PercentileInterval(const Histogram& histogram,
                                      double percent) {
  const auto count = static_cast<double>(histogram.count());
  const double share = percent / 100;
  const double half_width =
      kNormalQuantile * std::sqrt(count * share * (1 - share));
  const double low = std::floor(count * share - half_width);
  const double high = std::ceil(count * share + half_width) + 1;
  const auto at = [&histogram](double rank) {
    return static_cast<double>(histogram.AtRank(static_cast<int64_t>(rank)));
  };
  return {low < 1 ? 0 : at(low),
          high > count ? std::numeric_limits<double>::infinity() : at(high)};
}

// Returns the 95 % confidence interval of the mean.
ConfidenceInterval MeanInterval(const Histogram& histogram) {
  const double mean = histogram.mean();
  double squares = 0;
  for (const Histogram::Bin& bin : histogram.Bins()) {
    const double deviation = static_cast<double>(bin.nanos) - mean;
    squares += deviation * deviation * static_cast<double>(bin.count);
  }
  const auto count =
      static_cast<double>(std::max<int64_t>(1, histogram.count()));
  const double half_width = kNormalQuantile * std::sqrt(squares) / count;
  return {mean - half_width, mean + half_width};
}

// Compares the intervals of a figure for which lower is better.
Verdict Judge(const ConfidenceInterval& before,
              const ConfidenceInterval& after) {
  if (after.low > before.high) return Verdict::kWorse;
  if (after.high < before.low) return Verdict::kBetter;
  return Verdict::kSame;
}

// Returns kUncertain instead of kSame for a large difference.
Verdict WithDoubt(const ComparedFigure& figure) {
  constexpr double kLargeGrowth = 0.05;
  const bool large = std::abs(figure.Growth()) > kLargeGrowth;
  return figure.verdict == Verdict::kSame && large ? Verdict::kUncertain
                                                   : figure.verdict;
}

// Whether a percentile of the latency belongs to a short comparison.
bool IsHeadline(double percent) {
  return percent == 50 || percent == 99 || percent == 99.9;
}

// Adds the mean and the percentiles of one kind of time.
void AddTimes(const std::string& prefix, const Histogram& before,
              const Histogram& after, std::vector<ComparedFigure>* figures) {
  if (before.count() == 0 || after.count() == 0) return;
  figures->push_back(
      {.name = prefix + "mean",
       .before = before.mean(),
       .after = after.mean(),
       .verdict = Judge(MeanInterval(before), MeanInterval(after)),
       .headline = prefix.empty()});
  for (const NamedPercentile& percentile : kPercentiles) {
    const double percent = percentile.percent;
    const bool enough = HasEnoughCalls(percent, before.count()) &&
                        HasEnoughCalls(percent, after.count());
    figures->push_back(
        {.name = prefix + percentile.name,
         .before = static_cast<double>(before.Percentile(percent)),
         .after = static_cast<double>(after.Percentile(percent)),
         .verdict = enough ? Judge(PercentileInterval(before, percent),
                                   PercentileInterval(after, percent))
                           : Verdict::kTooFewCalls,
         .headline = prefix.empty() && IsHeadline(percent)});
  }
}

void AddDifference(const char* what, const std::string& before,
                   const std::string& after,
                   std::vector<std::string>* differences) {
  if (before == after) return;
  differences->push_back(absl::StrCat(what, ": ", before, " and ", after));
}

double CpuNanosPerCall(const Result& result) {
  return result.cost.calls > 0 ? result.cost.thread_cpu_seconds * 1e9 /
                                     static_cast<double>(result.cost.calls)
                               : 0;
}

}  // namespace

double ComparedFigure::Growth() const {
  if (before == after) return 0;
  return before == 0 ? std::numeric_limits<double>::infinity()
                     : after / before - 1;
}

Comparison Compare(const Result& before, const Result& after) {
  Comparison comparison;
  std::vector<ComparedFigure>& figures = comparison.figures;
  figures.push_back({.name = "throughput",
                     .unit = ComparedFigure::Unit::kPerSecond,
                     .before = before.Throughput(),
                     .after = after.Throughput(),
                     .headline = true});
  figures.push_back({.name = "errors",
                     .unit = ComparedFigure::Unit::kShare,
                     .before = before.ErrorRatio(),
                     .after = after.ErrorRatio(),
                     .headline = true});
  AddTimes("", before.statistics.latency, after.statistics.latency, &figures);
  AddTimes("service ", before.statistics.service, after.statistics.service,
           &figures);
  AddTimes("queue ", before.statistics.queue, after.statistics.queue, &figures);
  AddTimes("compute ", before.statistics.compute, after.statistics.compute,
           &figures);
  figures.push_back({.name = "client cpu per call",
                     .before = CpuNanosPerCall(before),
                     .after = CpuNanosPerCall(after)});
  for (ComparedFigure& figure : figures) figure.verdict = WithDoubt(figure);
  std::vector<std::string>& differences = comparison.differences;
  const Setup& a = before.setup;
  const Setup& b = after.setup;
  AddDifference("method", a.method, b.method, &differences);
  AddDifference("load", a.load, b.load, &differences);
  AddDifference("request bytes", absl::StrCat(a.request_bytes),
                absl::StrCat(b.request_bytes), &differences);
  AddDifference("connections", absl::StrCat(a.connections),
                absl::StrCat(b.connections), &differences);
  AddDifference("threads", absl::StrCat(a.threads), absl::StrCat(b.threads),
                &differences);
  return comparison;
}

absl::StatusOr<GrowthLimit> ParseGrowthLimit(absl::string_view text) {
  std::vector<std::string> names = {"throughput", "errors",
                                    "client cpu per call"};
  for (const char* prefix : {"", "service ", "queue ", "compute "}) {
    names.push_back(absl::StrCat(prefix, "mean"));
    for (const NamedPercentile& percentile : kPercentiles) {
      names.push_back(absl::StrCat(prefix, percentile.name));
    }
  }
  const size_t equals = text.find('=');
  GrowthLimit limit{.name = std::string(text.substr(0, equals))};
  if (equals == absl::string_view::npos ||
      std::find(names.begin(), names.end(), limit.name) == names.end()) {
    return absl::InvalidArgumentError(
        absl::StrCat("\"", text, "\" is not FIGURE=GROWTH, such as p99=10%; ",
                     "figures are ", absl::StrJoin(names, ", ")));
  }
  absl::string_view growth = text.substr(equals + 1);
  const bool percent = absl::ConsumeSuffix(&growth, "%");
  if (!absl::SimpleAtod(growth, &limit.growth) || !(limit.growth >= 0)) {
    return absl::InvalidArgumentError(
        absl::StrCat("\"", text, "\" needs a growth such as 10%"));
  }
  if (percent) limit.growth /= 100;
  return limit;
}

std::vector<std::string> Violations(const std::vector<GrowthLimit>& limits,
                                    const Comparison& comparison) {
  std::vector<std::string> lines;
  for (const GrowthLimit& limit : limits) {
    const auto figure = std::find_if(
        comparison.figures.begin(), comparison.figures.end(),
        [&limit](const ComparedFigure& one) { return one.name == limit.name; });
    if (figure == comparison.figures.end()) {
      lines.push_back(
          absl::StrCat(limit.name, " is not available for both runs"));
      continue;
    }
    // For throughput, lower is worse.
    const double growth = figure->unit == ComparedFigure::Unit::kPerSecond
                              ? -figure->Growth()
                              : figure->Growth();
    const bool overlap = figure->verdict == Verdict::kSame ||
                         figure->verdict == Verdict::kUncertain ||
                         figure->verdict == Verdict::kTooFewCalls;
    if (overlap || growth <= limit.growth) continue;
    lines.push_back(absl::StrFormat("%s is %.3g%% worse, above %.3g%%",
                                    limit.name, 100 * growth,
                                    100 * limit.growth));
  }
  return lines;
}

}  // namespace locus::client::load
