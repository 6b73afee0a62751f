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

bool ParseName(absl::string_view name, Limit* limit) {
  if (name == "errors") {
    limit->of = Limit::Of::kErrors;
  } else if (name == "mean") {
    limit->of = Limit::Of::kMean;
  } else if (name == "max") {
    limit->of = Limit::Of::kMax;
  } else {
    limit->of = Limit::Of::kPercentile;
    return absl::StartsWith(name, "p") &&
           absl::SimpleAtod(name.substr(1), &limit->percent) &&
           limit->percent > 0 && limit->percent <= 100;
  }
  return true;
}

std::string Show(const Limit& limit, double value) {
  if (limit.of == Limit::Of::kErrors) {
    return absl::StrFormat("%.3g%%", 100 * value);
  }
  return std::isinf(value) ? "unknown, as no call succeeded"
                           : FormatNanos(value);
}

}  // namespace

absl::StatusOr<Limit> ParseLimit(absl::string_view text) {
  Limit limit{.text = std::string(text)};
  const size_t equals = text.find('=');
  if (equals == absl::string_view::npos ||
      !ParseName(text.substr(0, equals), &limit)) {
    return absl::InvalidArgumentError(
        absl::StrCat("\"", text,
                     "\" is not a limit; write p99=5ms, p99.9=20ms, mean=1ms, "
                     "max=1s or errors=0.1%"));
  }
  const absl::string_view bound = text.substr(equals + 1);
  if (limit.of == Limit::Of::kErrors) {
    const absl::StatusOr<double> share = ParseShare(bound);
    if (!share.ok()) return share.status();
    limit.bound = *share;
    return limit;
  }
  const absl::StatusOr<int64_t> nanos = ParseNanos(bound);
  if (!nanos.ok()) return nanos.status();
  limit.bound = static_cast<double>(*nanos);
  return limit;
}

double Measure(const Limit& limit, const Result& result) {
  if (limit.of == Limit::Of::kErrors) return result.ErrorShare();
  const Histogram& latency = result.statistics.latency;
  if (latency.count() == 0) return std::numeric_limits<double>::infinity();
  switch (limit.of) {
    case Limit::Of::kMean:
      return latency.mean();
    case Limit::Of::kMax:
      return static_cast<double>(latency.max());
    default:
      return static_cast<double>(latency.Percentile(limit.percent));
  }
}

std::vector<std::string> Violations(const std::vector<Limit>& limits,
                                    const Result& result) {
  std::vector<std::string> lines;
  for (const Limit& limit : limits) {
    const double value = Measure(limit, result);
    if (value <= limit.bound) continue;
    lines.push_back(
        absl::StrCat(limit.text.substr(0, limit.text.find('=')),
                     limit.of == Limit::Of::kErrors ? " are " : " is ",
                     Show(limit, value), ", above ", Show(limit, limit.bound)));
  }
  return lines;
}

bool HasErrorLimit(const std::vector<Limit>& limits) {
  return std::any_of(limits.begin(), limits.end(), [](const Limit& limit) {
    return limit.of == Limit::Of::kErrors;
  });
}

}  // namespace locus::client::load
