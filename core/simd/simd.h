// Which instruction sets our kernels are compiled for.
//
// The generic build runs everywhere; the steps left out here gain little over
// the next lower one and cost compile time. A kernel's file includes this
// before anything of Highway, says its own name, and goes on as Highway's
// foreach_target.h describes:
//
//   #include "core/simd/simd.h"
//
//   #undef HWY_TARGET_INCLUDE
//   #define HWY_TARGET_INCLUDE "core/simd/gemm.cc"
//   #include <hwy/foreach_target.h>  // must come before highway.h
//
//   #include <hwy/highway.h>
//
//   #include "core/simd/simd-inl.h"
#pragma once

// Highway defines it, as none, with its first header.
#ifdef HWY_DISABLED_TARGETS
#error "core/simd/simd.h has to come before any header of Highway"
#endif
#define HWY_DISABLED_TARGETS \
  (HWY_SSSE3 | HWY_AVX3_DL | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128)
