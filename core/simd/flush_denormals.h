// Numbers too small to be normal, taken for zero while one object lives.
#pragma once

#include <cstdint>

namespace locus {

// Arithmetic on denormal numbers takes a hundred cycles on some processors, and
// a softmax makes many. Holds for the thread it is made on, until its end.
class FlushDenormals {
 public:
#if defined(__SSE2__)
  FlushDenormals() : before_(__builtin_ia32_stmxcsr()) {
    constexpr unsigned kFlushToZero = 0x8000;
    constexpr unsigned kDenormalsAreZero = 0x0040;
    __builtin_ia32_ldmxcsr(before_ | kFlushToZero | kDenormalsAreZero);
  }
  ~FlushDenormals() { __builtin_ia32_ldmxcsr(before_); }
#elif defined(__aarch64__)
  FlushDenormals() {
    constexpr uint64_t kFlushToZero = uint64_t{1} << 24;
    asm volatile("mrs %0, fpcr" : "=r"(before_));
    asm volatile("msr fpcr, %0" : : "r"(before_ | kFlushToZero));
  }
  ~FlushDenormals() { asm volatile("msr fpcr, %0" : : "r"(before_)); }
#else
  FlushDenormals() {}
  ~FlushDenormals() {}
#endif
  FlushDenormals(const FlushDenormals&) = delete;
  FlushDenormals& operator=(const FlushDenormals&) = delete;

 private:
#if defined(__SSE2__)
  const unsigned before_;
#elif defined(__aarch64__)
  uint64_t before_;
#endif
};

}  // namespace locus
