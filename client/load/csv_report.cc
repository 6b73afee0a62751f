#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/load/report.h"

namespace locus::client::load {
namespace {

constexpr char kHeader[] =
    "span,from_s,to_s,ok,failed,in_flight,per_s,p50_us,p90_us,p99_us,p999_us,"
    "max_us,service_p50_us,service_p99_us\n";

std::string Row(const char* span, const Interval& interval) {
  const double seconds = interval.to_seconds - interval.from_seconds;
  const auto micros = [](int64_t nanos) {
    return absl::StrFormat("%.3f", static_cast<double>(nanos) / 1e3);
  };
  return absl::StrCat(
      span,
      absl::StrFormat(",%.3f,%.3f,", interval.from_seconds,
                      interval.to_seconds),
      interval.ok, ",", interval.failed, ",", interval.in_flight, ",",
      absl::StrFormat("%.1f", seconds > 0
                                  ? static_cast<double>(interval.ok) / seconds
                                  : 0.0),
      ",", micros(interval.p50), ",", micros(interval.p90), ",",
      micros(interval.p99), ",", micros(interval.p999), ",",
      micros(interval.max), ",", micros(interval.service_p50), ",",
      micros(interval.service_p99), "\n");
}

// Returns the whole measurement as one interval.
Interval WholeRun(const Result& result) {
  const Statistics& statistics = result.statistics;
  const double begin = result.setup.warm_up_seconds;
  return {.from_seconds = begin,
          .to_seconds = begin + result.measured_seconds,
          .ok = statistics.ok_count(),
          .failed = statistics.failed_count(),
          .in_flight = 0,
          .p50 = statistics.latency.Percentile(50),
          .p90 = statistics.latency.Percentile(90),
          .p99 = statistics.latency.Percentile(99),
          .p999 = statistics.latency.Percentile(99.9),
          .max = statistics.latency.max(),
          .service_p50 = statistics.service.Percentile(50),
          .service_p99 = statistics.service.Percentile(99)};
}

}  // namespace

std::string CsvReport(const Report& report) {
  const Result& result = report.result;
  std::string text = kHeader;
  for (const Interval& interval : result.timeline) {
    text += Row(interval.from_seconds < result.setup.warm_up_seconds ? "warm-up"
                                                                     : "second",
                interval);
  }
  return text + Row("all", WholeRun(result));
}

}  // namespace locus::client::load
