// Measures things side by side.
//
// The machines we measure on are shared, and what others take of them changes
// from second to second. So contenders take turns: each round gives a slice of
// time to every one of them, and only speeds of the same round are compared.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

namespace locus::bench {

struct Contender {
  std::function<void()> run;
  // What one call does, in flops or bytes.
  double work = 1;
};

class SideBySide {
 public:
  // Takes about so many seconds: rounds are repeated at least five times, but
  // what needs ten seconds for a round runs once. With 0, there is one round of
  // whatever length, to see that all of it runs.
  SideBySide(const std::vector<Contender>& contenders, double seconds);

  // Of one call, the median of the rounds.
  double Seconds(size_t contender) const;
  // Work per second, the same way.
  double Rate(size_t contender) const;
  // How many times as fast as the other, the median of the rounds' ratios.
  double Ratio(size_t contender, size_t other) const;

 private:
  // [contender][round]: seconds of a call
  std::vector<std::vector<double>> seconds_;
  std::vector<double> work_;
};

}  // namespace locus::bench
