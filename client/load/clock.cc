#include "client/load/clock.h"

#include <sys/prctl.h>

#include <cerrno>
#include <ctime>
#include <fstream>
#include <string>

namespace locus::client::load {
namespace {

constexpr int64_t kNanosPerSecond = int64_t{1000} * 1000 * 1000;

int64_t Read(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return time.tv_sec * kNanosPerSecond + time.tv_nsec;
}

}  // namespace

int64_t NowNanos() { return Read(CLOCK_MONOTONIC); }

void SleepUntil(int64_t nanos) {
  timespec time{};
  time.tv_sec = nanos / kNanosPerSecond;
  time.tv_nsec = nanos % kNanosPerSecond;
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, nullptr) ==
         EINTR) {
  }
}

void SleepPrecisely() { prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0); }

double ThreadCpuSeconds() {
  return static_cast<double>(Read(CLOCK_THREAD_CPUTIME_ID)) / kNanosPerSecond;
}

double ProcessCpuSeconds() {
  return static_cast<double>(Read(CLOCK_PROCESS_CPUTIME_ID)) / kNanosPerSecond;
}

std::optional<MachineTime> ReadMachineTime() {
  std::ifstream file("/proc/stat");
  std::string name;
  if (!(file >> name) || name != "cpu") return std::nullopt;
  // user nice system idle iowait irq softirq steal; guests are in user already.
  constexpr int kColumns = 8;
  constexpr int kIdle = 3;
  constexpr int kWaiting = 4;
  MachineTime time;
  for (int i = 0; i < kColumns; ++i) {
    double ticks = 0;
    if (!(file >> ticks)) return std::nullopt;
    time.total += ticks;
    if (i != kIdle && i != kWaiting) time.busy += ticks;
  }
  return time;
}

std::optional<double> BusyShare(const std::optional<MachineTime>& before,
                                const std::optional<MachineTime>& after) {
  if (!before.has_value() || !after.has_value()) return std::nullopt;
  if (after->total <= before->total) return std::nullopt;
  return (after->busy - before->busy) / (after->total - before->total);
}

}  // namespace locus::client::load
