// Interleaved measurement of several functions.
//
// On a shared machine, the available speed changes from second to second. The
// contenders therefore take turns: each round gives a slice of time to every
// contender, and only speeds of the same round are compared.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

namespace locus::bench {

// A function to be measured.
struct Contender {
  std::function<void()> run;
  // Work of one call, in flops or bytes.
  double work = 1;
};

// Measures the contenders in its constructor and keeps the times of all rounds.
class SideBySide {
 public:
  // Measures for about `seconds` seconds: between 5 and 51 rounds, but a single
  // round if one takes more than 10 seconds. 0 runs a single round as short as
  // possible, as a smoke test.
  SideBySide(const std::vector<Contender>& contenders, double seconds);

  // Time of one call: the median of the rounds.
  double Seconds(size_t contender) const;
  // Work per second at the median time.
  double Rate(size_t contender) const;
  // Rate of a contender divided by that of another: the median of the ratios in
  // each round.
  double Ratio(size_t contender, size_t other) const;

 private:
  // [contender][round]: seconds per call
  std::vector<std::vector<double>> seconds_;
  std::vector<double> work_;
};

}  // namespace locus::bench
