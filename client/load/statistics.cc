#include "client/load/statistics.h"

#include <algorithm>

#include "client/load/report.h"

namespace locus::client::load {

void Statistics::Add(const CallSample& sample) {
  const int code = static_cast<int>(sample.code);
  constexpr int kUnknown = static_cast<int>(absl::StatusCode::kUnknown);
  ++by_code[code >= 0 && code < kCodeCount ? code : kUnknown];
  delay.Record(sample.started - sample.intended);
  last_end = std::max(last_end, sample.ended);
  if (sample.code != absl::StatusCode::kOk) {
    failed.Record(sample.ended - sample.intended);
    return;
  }
  latency.Record(sample.ended - sample.intended);
  service.Record(sample.ended - sample.started);
  if (sample.queue_nanos.has_value()) queue.Record(*sample.queue_nanos);
  if (sample.compute_nanos.has_value()) compute.Record(*sample.compute_nanos);
}

void Statistics::Merge(const Statistics& other) {
  latency.Add(other.latency);
  service.Add(other.service);
  queue.Add(other.queue);
  compute.Add(other.compute);
  failed.Add(other.failed);
  delay.Add(other.delay);
  for (int i = 0; i < kCodeCount; ++i) by_code[i] += other.by_code[i];
  last_end = std::max(last_end, other.last_end);
}

void Statistics::Clear() {
  for (Histogram* histogram :
       {&latency, &service, &queue, &compute, &failed, &delay}) {
    histogram->Clear();
  }
  by_code.fill(0);
  last_end = 0;
}

bool HasEnoughCalls(double percent, int64_t call_count) {
  // Rounding must not make p99.9 of 10000 calls insufficient.
  constexpr double kRounding = 1e-6;
  return percent <= 99 || static_cast<double>(call_count) * (100 - percent) >=
                              10 * 100 * (1 - kRounding);
}

double Result::Throughput() const {
  return measured_seconds > 0
             ? static_cast<double>(statistics.ok_count()) / measured_seconds
             : 0;
}

double Result::ErrorRatio() const {
  const int64_t bad = statistics.failed_count() + unsent;
  const int64_t all = statistics.ok_count() + bad;
  return all > 0 ? static_cast<double>(bad) / static_cast<double>(all) : 0;
}

}  // namespace locus::client::load
