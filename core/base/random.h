// Random numbers that are the same on every platform.
//
// A stream is named by a seed and a purpose, such as (7, "module.wq"). Streams
// are independent, so that a new consumer of randomness changes no other's
// numbers. The definition is simple enough to be written again elsewhere, and
// tests/golden does so:
//
//   state    starts as Mix(seed ^ Fnv1a64(purpose))
//   next     state += 0x9e3779b97f4a7c15, then Mix(state)       (SplitMix64)
//   Mix(z)   z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9
//            z = (z ^ z >> 27) * 0x94d049bb133111eb
//            z ^ z >> 31
//   uniform  (next >> 11) * 2^-53, in [0, 1)
//   normal   Marsaglia's polar method: u, v uniform in [-1, 1) until
//            0 < s = u u + v v < 1; then u sqrt(-2 ln s / s), and on the next
//            call v times the same.
//
// Everything is IEEE arithmetic without fused operations, and the logarithm is
// our own, so that no mathematics library can make a difference.
#pragma once

#include <cstdint>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace locus {

class RandomStream {
 public:
  RandomStream(uint64_t seed, absl::string_view purpose);

  uint64_t Next();
  // In [0, 1).
  double Uniform();
  // Mean 0, standard deviation 1.
  double Normal();
  // Fills `values` with draws from N(0, deviation).
  void FillNormal(double deviation, absl::Span<float> values);
  void FillNormal(double deviation, absl::Span<double> values);

 private:
  uint64_t state_;
  double spare_ = 0;
  bool has_spare_ = false;
};

}  // namespace locus
