// Selects the instruction sets that vectorised code is compiled for.
//
// The binary contains code for several instruction sets and runs on any
// processor of its architecture. The sets disabled here gain little over the
// next lower one and cost compile time. A vectorised .cc file includes this
// header before any Highway header, defines HWY_TARGET_INCLUDE as its own path,
// and continues as Highway's foreach_target.h describes:
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

// Highway defines HWY_DISABLED_TARGETS as 0 if it is undefined.
#ifdef HWY_DISABLED_TARGETS
#error "core/simd/simd.h must be included before any Highway header"
#endif
#define HWY_DISABLED_TARGETS \
  (HWY_SSSE3 | HWY_AVX3_DL | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128)
