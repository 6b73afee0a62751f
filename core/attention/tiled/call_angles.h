// Cosines and sines of a sequence, computed once for all heads of a call.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/simd/aligned_buffer.h"
#include "core/base/positions.h"
#include "core/parallel/stopper.h"
#include "core/parallel/thread_pool.h"
#include "core/encoding/scheme.h"

namespace locus {

template <typename T>
class CallAngles {
 public:
  void Fill(const Rotation& rotation, const Positions& positions,
            ThreadPool& pool, Stopper& stopper) {
    constexpr int64_t kRows = 256;
    const int64_t pairs = rotation.pair_count();
    cos_ = AlignedBuffer<T>(positions.size() * pairs);
    sin_ = AlignedBuffer<T>(positions.size() * pairs);
    pool.ParallelFor((positions.size() + kRows - 1) / kRows, [&](int64_t n) {
      if (stopper.ShouldStop()) return;
      const int64_t first = n * kRows;
      rotation.AngleRows(
          positions, first, std::min(kRows, positions.size() - first),
          cos_.get() + first * pairs, sin_.get() + first * pairs);
    });
  }

  const T* cos() const { return cos_.get(); }  // [positions, pairs]
  const T* sin() const { return sin_.get(); }  // [positions, pairs]

 private:
  AlignedBuffer<T> cos_;
  AlignedBuffer<T> sin_;
};

}  // namespace locus
