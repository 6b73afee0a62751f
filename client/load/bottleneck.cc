#include "client/load/bottleneck.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/load/units.h"

namespace locus::client::load {
namespace {

// CPU utilisation of a thread above which it sends calls late.
constexpr double kBusyThread = 0.9;
// CPU utilisation of the machine above which other processes interfere.
constexpr double kBusyMachine = 0.95;
// Calls start late if this percentile of the send delay exceeds both kLateNanos
// and kLateShare of the same percentile of the latency.
constexpr double kLatePercent = 99;
constexpr int64_t kLateNanos = int64_t{1000} * 1000;
constexpr double kLateShare = 0.1;

bool SendsLate(const Result& result) {
  const int64_t late = result.statistics.delay.Percentile(kLatePercent);
  const auto latency =
      static_cast<double>(result.statistics.latency.Percentile(kLatePercent));
  return late > kLateNanos && static_cast<double>(late) > kLateShare * latency;
}

}  // namespace

std::vector<std::string> MeasurementWarnings(const Result& result) {
  std::vector<std::string> warnings;
  const ClientCost& cost = result.cost;
  if (cost.busiest_thread > kBusyThread) {
    warnings.push_back(
        absl::StrFormat("the client is the bottleneck: one of its threads was "
                        "busy for %.0f%% of the time; add --threads or another "
                        "machine",
                        100 * cost.busiest_thread));
  }
  // Calls that are delayed by max_in_flight wait for the server, not for the
  // client.
  if (result.delayed > 0) {
    warnings.push_back(absl::StrCat(result.delayed,
                                    " calls were sent late because "
                                    "--max-in-flight calls were in flight: the "
                                    "server does not keep up"));
  } else if (SendsLate(result)) {
    warnings.push_back(absl::StrCat(
        "the client is the bottleneck: 1% of calls were sent at least ",
        FormatNanos(static_cast<double>(
            result.statistics.delay.Percentile(kLatePercent))),
        " late; latency includes this delay, service time does not"));
  }
  if (result.unsent > 0 && !result.interrupted) {
    warnings.push_back(
        absl::StrCat(result.unsent,
                     " scheduled calls were not sent: the load was below the "
                     "requested rate"));
  }
  if (cost.machine_busy.value_or(0) > kBusyMachine) {
    warnings.push_back(absl::StrFormat(
        "the processors of this machine were %.0f%% busy, %.2f of them with "
        "this process: other processes on this machine compete with it",
        100 * *cost.machine_busy,
        cost.wall_seconds > 0 ? cost.process_cpu_seconds / cost.wall_seconds
                              : 0));
  }
  return warnings;
}

}  // namespace locus::client::load
