#include "tests/bench/eigen_attention.h"

#include <hwy/targets.h>

namespace locus::bench {

void EigenHeadBaseline(const EigenHeads& heads, int64_t head);
void EigenHeadAvx2(const EigenHeads& heads, int64_t head);
void EigenHeadAvx512(const EigenHeads& heads, int64_t head);

namespace {

struct Copy {
  const char* name;
  void (*attend)(const EigenHeads& heads, int64_t head);
};

Copy Best() {
#if HWY_ARCH_X86
  if (hwy::SupportedTargets() & HWY_AVX3) return {"AVX-512", EigenHeadAvx512};
  if (hwy::SupportedTargets() & HWY_AVX2) return {"AVX2", EigenHeadAvx2};
#endif
  return {"baseline", EigenHeadBaseline};
}

}  // namespace

void EigenAttend(const EigenHeads& heads, ThreadPool& pool) {
  const Copy copy = Best();
  pool.ParallelFor(heads.head_count,
                   [&](int64_t head) { copy.attend(heads, head); });
}

const char* EigenInstructionSet() { return Best().name; }

}  // namespace locus::bench
