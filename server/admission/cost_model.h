// Estimates of compute time, before a call is computed.
#pragma once

#include <atomic>
#include <cstdint>

namespace locus::server {

// The work of a call: multiplications and additions, and bytes written.
struct Work {
  double flops = 0;
  int64_t bytes = 0;
};

// Predicts the compute time of the calls of one method. It starts from the
// speed of a ten-year-old machine and learns a factor from measured calls: an
// EWMA of log(measured / guessed) with weight 0.1. Thread-safe.
class CostModel {
 public:
  explicit CostModel(int threads) : threads_(threads) {}

  double ExpectSeconds(const Work& work) const;
  void Learn(const Work& work, double seconds);

 private:
  // The prediction before anything is learned.
  double GuessSeconds(const Work& work) const;

  const int threads_;
  // EWMA of the logarithm of measured over guessed time.
  std::atomic<double> log_factor_{0};
};

}  // namespace locus::server
