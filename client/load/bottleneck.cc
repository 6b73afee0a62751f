#include "client/load/bottleneck.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/load/units.h"

namespace locus::client::load {
namespace {

// A thread that has less than a tenth of its time left sends late.
constexpr double kBusyThread = 0.9;
constexpr double kBusyMachine = 0.95;
// One call in a hundred that leaves later than this, and by more than a tenth
// of the latency it is part of.
constexpr double kLatePercent = 99;
constexpr int64_t kLateNanos = int64_t{1000} * 1000;
constexpr double kLateShare = 0.1;

bool LeavesLate(const Result& result) {
  const int64_t late = result.statistics.delay.Percentile(kLatePercent);
  const auto latency =
      static_cast<double>(result.statistics.latency.Percentile(kLatePercent));
  return late > kLateNanos && static_cast<double>(late) > kLateShare * latency;
}

}  // namespace

std::vector<std::string> Doubts(const Result& result) {
  std::vector<std::string> doubts;
  const ClientCost& cost = result.cost;
  if (cost.busiest_thread > kBusyThread) {
    doubts.push_back(absl::StrFormat(
        "the client is the bottleneck: a thread of it was busy for %.0f%% of "
        "the time; add --threads or another machine",
        100 * cost.busiest_thread));
  }
  // Calls that wait for a place among those in flight wait for the server.
  if (result.held_back > 0) {
    doubts.push_back(absl::StrCat(
        result.held_back,
        " calls left late because --max-in-flight were under way already: the "
        "server does not keep up"));
  } else if (LeavesLate(result)) {
    doubts.push_back(absl::StrCat(
        "the client is the bottleneck: one call in a hundred left ",
        FormatNanos(static_cast<double>(
            result.statistics.delay.Percentile(kLatePercent))),
        " late or more; latency includes that, service time does not"));
  }
  if (result.unsent > 0 && !result.interrupted) {
    doubts.push_back(
        absl::StrCat(result.unsent,
                     " calls that were due were never sent: the rate was "
                     "not offered"));
  }
  if (cost.machine_busy.value_or(0) > kBusyMachine) {
    doubts.push_back(absl::StrFormat(
        "this machine's processors were %.0f%% busy, %.2f of them with this "
        "process: whatever else runs here competes with it",
        100 * *cost.machine_busy,
        cost.wall_seconds > 0 ? cost.process_cpu_seconds / cost.wall_seconds
                              : 0));
  }
  return doubts;
}

}  // namespace locus::client::load
