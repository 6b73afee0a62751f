// The clocks a load needs: time that only goes forward, and processor time.
#pragma once

#include <cstdint>
#include <optional>

namespace locus::client::load {

// Nanoseconds since some moment.
int64_t NowNanos();
// Until NowNanos is that; at once if it is.
void SleepUntil(int64_t nanos);
// Lets the sleeps of this thread end when they should rather than up to 50
// microseconds later, which is what Linux does to save power.
void SleepPrecisely();

// Of this thread, and of all threads of this process.
double ThreadCpuSeconds();
double ProcessCpuSeconds();

// What all processors together have done, in the system's own unit.
struct MachineTime {
  double busy = 0;
  double total = 0;
};
// Nothing where the system does not say.
std::optional<MachineTime> ReadMachineTime();
// The share of time that was busy between the two.
std::optional<double> BusyShare(const std::optional<MachineTime>& before,
                                const std::optional<MachineTime>& after);

}  // namespace locus::client::load
