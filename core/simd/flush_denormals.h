// Scoped flush-to-zero mode for denormal numbers.
#pragma once

#include <cstdint>

namespace locus {

// While an object of this class exists, the thread that created it treats
// denormal operands and results as zero. Arithmetic on denormals takes about a
// hundred cycles on some processors, and softmax produces many of them. The
// destructor restores the previous mode and must run on the same thread.
class FlushDenormals {
 public:
#if defined(__SSE2__)
  FlushDenormals() : saved_mode_(__builtin_ia32_stmxcsr()) {
    constexpr unsigned kFlushToZero = 0x8000;
    constexpr unsigned kDenormalsAreZero = 0x0040;
    __builtin_ia32_ldmxcsr(saved_mode_ | kFlushToZero | kDenormalsAreZero);
  }
  ~FlushDenormals() { __builtin_ia32_ldmxcsr(saved_mode_); }
#elif defined(__aarch64__)
  FlushDenormals() {
    constexpr uint64_t kFlushToZero = uint64_t{1} << 24;
    asm volatile("mrs %0, fpcr" : "=r"(saved_mode_));
    asm volatile("msr fpcr, %0" : : "r"(saved_mode_ | kFlushToZero));
  }
  ~FlushDenormals() { asm volatile("msr fpcr, %0" : : "r"(saved_mode_)); }
#else
  FlushDenormals() {}
  ~FlushDenormals() {}
#endif
  FlushDenormals(const FlushDenormals&) = delete;
  FlushDenormals& operator=(const FlushDenormals&) = delete;

 private:
#if defined(__SSE2__)
  const unsigned saved_mode_;
#elif defined(__aarch64__)
  uint64_t saved_mode_;
#endif
};

}  // namespace locus
