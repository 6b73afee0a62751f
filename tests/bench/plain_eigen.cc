#include "tests/bench/plain_eigen.h"

#include <algorithm>

#include <hwy/targets.h>

namespace locus::bench {

#define LOCUS_DECLARE_COPY(COPY)                                               \
  namespace COPY {                                                             \
  void AttendHead(const EigenHeads& heads, int64_t head);                      \
  void SinusoidalRows(int64_t first, int64_t last, int64_t dim, float* table); \
  void RotatePosition(const EigenRotation& rotation, int64_t t);               \
  }
LOCUS_DECLARE_COPY(baseline)
LOCUS_DECLARE_COPY(avx2)
LOCUS_DECLARE_COPY(avx512)

namespace {

// The functions of plain_eigen_copy.cc, compiled for one instruction set.
struct Copy {
  const char* name;
  decltype(&baseline::AttendHead) attend_head;
  decltype(&baseline::SinusoidalRows) sinusoidal_rows;
  decltype(&baseline::RotatePosition) rotate_position;
};

// The best copy that the instruction set in use allows.
Copy Best() {
#if HWY_ARCH_X86
  if (hwy::SupportedTargets() & HWY_AVX3) {
    return {"AVX-512", avx512::AttendHead, avx512::SinusoidalRows,
            avx512::RotatePosition};
  }
  if (hwy::SupportedTargets() & HWY_AVX2) {
    return {"AVX2", avx2::AttendHead, avx2::SinusoidalRows,
            avx2::RotatePosition};
  }
#endif
  return {"baseline", baseline::AttendHead, baseline::SinusoidalRows,
          baseline::RotatePosition};
}

}  // namespace

void EigenAttend(const EigenHeads& heads, ThreadPool& pool) {
  const Copy copy = Best();
  pool.ParallelFor(heads.head_count,
                   [&](int64_t head) { copy.attend_head(heads, head); });
}

void EigenSinusoidal(int64_t length, int64_t dim, float* table,
                     ThreadPool& pool) {
  constexpr int64_t kRows = 64;
  const Copy copy = Best();
  pool.ParallelFor((length + kRows - 1) / kRows, [&](int64_t i) {
    copy.sinusoidal_rows(i * kRows, std::min(length, (i + 1) * kRows), dim,
                         table);
  });
}

void EigenRotate(const EigenRotation& rotation, ThreadPool& pool) {
  const Copy copy = Best();
  pool.ParallelFor(rotation.length,
                   [&](int64_t t) { copy.rotate_position(rotation, t); });
}

const char* EigenInstructionSet() { return Best().name; }

}  // namespace locus::bench
