// Rotation angles of a sequence, shared by all heads of a call.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/base/positions.h"
#include "core/encoding/scheme.h"
#include "core/parallel/cancellation.h"
#include "core/parallel/thread_pool.h"
#include "core/simd/aligned_buffer.h"

namespace locus {

// Cosines and sines of all positions and pairs. Empty until Fill() is called.
template <typename T>
class CallAngles {
 public:
  // Computes the angles on all threads of the pool. The contents are undefined
  // after cancellation.
  void Fill(const Rotation& rotation, const Positions& positions,
            ThreadPool& pool, CancellationState& cancellation) {
    constexpr int64_t kRows = 256;
    const int64_t pairs = rotation.pair_count();
    cos_ = AlignedBuffer<T>(positions.size() * pairs);
    sin_ = AlignedBuffer<T>(positions.size() * pairs);
    pool.ParallelFor((positions.size() + kRows - 1) / kRows, [&](int64_t n) {
      if (cancellation.ShouldStop()) return;
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
