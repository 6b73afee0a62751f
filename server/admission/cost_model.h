// What a call costs, before it is computed.
#pragma once

#include <atomic>
#include <cstdint>

namespace locus::server {

// The work of a call: multiplications and additions, and bytes written.
struct Work {
  double flops = 0;
  int64_t bytes = 0;
};

// How long calls of one method take. Begins with what any machine of the last
// ten years does, and learns from what the calls took. Thread-safe.
class CostModel {
 public:
  explicit CostModel(int threads) : threads_(threads) {}

  double ExpectSeconds(const Work& work) const;
  void Learn(const Work& work, double seconds);

 private:
  // Before anything is learned.
  double GuessSeconds(const Work& work) const;

  const int threads_;
  // What calls took as multiples of the guess: the mean of the logarithms, the
  // last ones counting most.
  std::atomic<double> log_factor_{0};
};

}  // namespace locus::server
