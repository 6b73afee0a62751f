// Monotonic time, sleeps and CPU time for the load tester.
#pragma once

#include <cstdint>
#include <optional>

namespace locus::client::load {

// Returns the monotonic time in nanoseconds since an arbitrary epoch.
int64_t NowNanos();
// Blocks until NowNanos() reaches `nanos`; returns at once if it has passed.
void SleepUntil(int64_t nanos);
// Sets the timer slack of the calling thread to 1 ns. By default, Linux may
// extend each sleep by up to 50 microseconds to save power.
void DisableTimerSlack();

// Returns the CPU time of the calling thread.
double ThreadCpuSeconds();
// Returns the CPU time of all threads of this process.
double ProcessCpuSeconds();

// CPU time of all processors together since boot, in clock ticks.
struct SystemCpuTime {
  double busy = 0;
  double total = 0;
};
// Reads /proc/stat; nullopt if it is not available.
std::optional<SystemCpuTime> ReadSystemCpuTime();
// Returns the fraction of CPU time that was busy between two readings; nullopt
// if one is missing.
std::optional<double> BusyFraction(const std::optional<SystemCpuTime>& before,
                                   const std::optional<SystemCpuTime>& after);

}  // namespace locus::client::load
