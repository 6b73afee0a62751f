#include "client/load/clock.h"

#include <sys/prctl.h>

#include <cerrno>
#include <ctime>
#include <fstream>
#include <string>

namespace locus::client::load {
namespace {

constexpr int64_t kSecondNanos = int64_t{1000} * 1000 * 1000;

int64_t Read(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return time.tv_sec * kSecondNanos + time.tv_nsec;
}

}  // namespace

int64_t NowNanos() { return Read(CLOCK_MONOTONIC); }

void SleepUntil(int64_t nanos) {
  timespec time{};
  time.tv_sec = nanos / kSecondNanos;
  time.tv_nsec = nanos % kSecondNanos;
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, nullptr) ==
         EINTR) {
  }
}

void DisableTimerSlack() { prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0); }

double ThreadCpuSeconds() {
  return static_cast<double>(Read(CLOCK_THREAD_CPUTIME_ID)) / kSecondNanos;
}

double ProcessCpuSeconds() {
  return static_cast<double>(Read(CLOCK_PROCESS_CPUTIME_ID)) / kSecondNanos;
}

std::optional<SystemCpuTime> ReadSystemCpuTime() {
  std::ifstream file("/proc/stat");
  std::string name;
  if (!(file >> name) || name != "cpu") return std::nullopt;
  // Columns: user nice system idle iowait irq softirq steal. The guest columns
  // that follow are already included in user.
  constexpr int kColumns = 8;
  constexpr int kIdle = 3;
  constexpr int kIoWait = 4;
  SystemCpuTime time;
  for (int i = 0; i < kColumns; ++i) {
    double ticks = 0;
    if (!(file >> ticks)) return std::nullopt;
    time.total += ticks;
    if (i != kIdle && i != kIoWait) time.busy += ticks;
  }
  return time;
}

std::optional<double> BusyFraction(const std::optional<SystemCpuTime>& before,
                                   const std::optional<SystemCpuTime>& after) {
  if (!before.has_value() || !after.has_value()) return std::nullopt;
  if (after->total <= before->total) return std::nullopt;
  return (after->busy - before->busy) / (after->total - before->total);
}

}  // namespace locus::client::load
