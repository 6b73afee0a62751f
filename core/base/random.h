// Pseudo-random numbers that are identical on every platform.
//
// A stream is identified by a seed and a purpose, such as (7, "module.wq").
// Streams are independent: adding a consumer of random numbers does not change
// the numbers of the others. The generator is SplitMix64 (Steele et al., 2014,
// "Fast Splittable Pseudorandom Number Generators"), and its definition is
// simple enough to be reimplemented, as tests/golden/streams.py does:
//
//   state    starts as Mix(seed ^ Fnv1a64(purpose))
//   next     state += 0x9e3779b97f4a7c15, then Mix(state)
//   Mix(z)   z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9
//            z = (z ^ z >> 27) * 0x94d049bb133111eb
//            z ^ z >> 31
//   uniform  (next >> 11) * 2^-53, in [0, 1)
//   normal   Marsaglia's polar method: u, v uniform in [-1, 1) until
//            0 < s = u u + v v < 1; then u sqrt(-2 ln s / s), and on the next
//            call v sqrt(-2 ln s / s)
//
// All operations are IEEE 754 arithmetic without fused multiply-add, and the
// logarithm is implemented here, so that results do not depend on libm.
#pragma once

#include <cstdint>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace locus {

// One stream of random numbers. Not thread-safe; give each thread a stream with
// a purpose of its own.
class RandomStream {
 public:
  RandomStream(uint64_t seed, absl::string_view purpose);

  // 64 uniformly distributed bits.
  uint64_t Next();
  // Uniform in [0, 1).
  double Uniform();
  // Normal with mean 0 and standard deviation 1.
  double Normal();
  // Fills `values` with normal numbers of mean 0 and that standard deviation.
  void FillNormal(double deviation, absl::Span<float> values);
  void FillNormal(double deviation, absl::Span<double> values);

 private:
  uint64_t state_;
  double spare_ = 0;
  bool has_spare_ = false;
};

}  // namespace locus
