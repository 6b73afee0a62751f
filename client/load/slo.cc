#include "client/load/slo.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/load/units.h"

namespace locus::client::load {
namespace {

// Parses the name of a metric. Returns false if it is invalid.
bool ParseMetric(absl::string_view name, Slo* slo) {
  if (name == "errors") {
    slo->metric = Slo::Metric::kErrors;
  } else if (name == "mean") {
    slo->metric = Slo::Metric::kMean;
  } else if (name == "max") {
    slo->metric = Slo::Metric::kMax;
  } else {
    slo->metric = Slo::Metric::kPercentile;
    return absl::StartsWith(name, "p") &&
           absl::SimpleAtod(name.substr(1), &slo->percent) &&
           slo->percent > 0 && slo->percent <= 100;
  }
  return true;
}

// Formats a value of the metric of an SLO.
std::string FormatValue(const Slo& slo, double value) {
  if (slo.metric == Slo::Metric::kErrors) {
    return absl::StrFormat("%.3g%%", 100 * value);
  }
  return std::isinf(value) ? "unknown, as no call succeeded"
                           : FormatNanos(value);
}

}  // namespace

absl::StatusOr<Slo> ParseSlo(absl::string_view text) {
  Slo slo{.text = std::string(text)};
  const size_t equals = text.find('=');
  if (equals == absl::string_view::npos ||
      !ParseMetric(text.substr(0, equals), &slo)) {
    return absl::InvalidArgumentError(
        absl::StrCat("\"", text,
                     "\" is not a limit; write p99=5ms, p99.9=20ms, mean=1ms, "
                     "max=1s or errors=0.1%"));
  }
  const absl::string_view bound = text.substr(equals + 1);
  if (slo.metric == Slo::Metric::kErrors) {
    const absl::StatusOr<double> share = ParseShare(bound);
    if (!share.ok()) return share.status();
    slo.bound = *share;
    return slo;
  }
  const absl::StatusOr<int64_t> nanos = ParseNanos(bound);
  if (!nanos.ok()) return nanos.status();
  slo.bound = static_cast<double>(*nanos);
  return slo;
}

double Measure(const Slo& slo, const Result& result) {
  if (slo.metric == Slo::Metric::kErrors) return result.ErrorRatio();
  const Histogram& latency = result.statistics.latency;
  if (latency.count() == 0) return std::numeric_limits<double>::infinity();
  switch (slo.metric) {
    case Slo::Metric::kMean:
      return latency.mean();
    case Slo::Metric::kMax:
      return static_cast<double>(latency.max());
    default:
      return static_cast<double>(latency.Percentile(slo.percent));
  }
}

std::vector<std::string> Violations(const std::vector<Slo>& slos,
                                    const Result& result) {
  std::vector<std::string> lines;
  for (const Slo& slo : slos) {
    const double value = Measure(slo, result);
    if (value <= slo.bound) continue;
    lines.push_back(absl::StrCat(
        slo.text.substr(0, slo.text.find('=')),
        slo.metric == Slo::Metric::kErrors ? " are " : " is ",
        FormatValue(slo, value), ", above ", FormatValue(slo, slo.bound)));
  }
  return lines;
}

bool HasErrorSlo(const std::vector<Slo>& slos) {
  return std::any_of(slos.begin(), slos.end(), [](const Slo& slo) {
    return slo.metric == Slo::Metric::kErrors;
  });
}

}  // namespace locus::client::load
