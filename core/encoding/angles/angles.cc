#include "core/encoding/angles/angles.h"

#include <algorithm>
#include <cmath>
#include <type_traits>

#include "core/simd/simd.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/encoding/angles/angles.cc"
#include <hwy/foreach_target.h>  // must come before highway.h

#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include "core/encoding/angles/angle_run-inl.h"
#include "core/encoding/angles/each_angle-inl.h"
#include "core/simd/streaming_stores-inl.h"

HWY_BEFORE_NAMESPACE();
namespace locus {
namespace HWY_NAMESPACE {
namespace {

// Calls body(std::bool_constant) with whether to use streaming stores: the
// table must request them and be aligned.
template <typename T, typename Body>
HWY_INLINE void WithStorePolicy(const AngleTable<T>& table, const Body& body) {
  const int64_t stride = table.stride * static_cast<int64_t>(sizeof(T));
  if (table.store_policy == StorePolicy::kStreaming &&
      IsAligned(table.sin, stride) && IsAligned(table.cos, stride)) {
    body(std::true_type());
    hwy::FlushStream();
  } else {
    body(std::false_type());
  }
}

template <typename T>
void EachImpl(const AngleTable<T>& table, const int64_t* positions,
              int64_t count) {
  WithStorePolicy(table, [&](auto streaming) {
    Each<T, decltype(streaming)::value>(table, positions, count);
  });
}

}  // namespace

void EachF32(const AngleTable<float>& table, const int64_t* positions,
             int64_t count) {
  EachImpl(table, positions, count);
}
void EachF64(const AngleTable<double>& table, const int64_t* positions,
             int64_t count) {
  EachImpl(table, positions, count);
}
void RunF32(const AngleTable<float>& table, int64_t start, int64_t count) {
  WithStorePolicy(table, [&](auto streaming) {
    FillRun<decltype(streaming)::value>(table, start, count);
  });
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace locus
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace locus {

HWY_EXPORT(EachF32);
HWY_EXPORT(EachF64);
HWY_EXPORT(RunF32);

namespace {

void Each(const AngleTable<float>& table, const int64_t* positions,
          int64_t count) {
  HWY_DYNAMIC_DISPATCH(EachF32)(table, positions, count);
}
void Each(const AngleTable<double>& table, const int64_t* positions,
          int64_t count) {
  HWY_DYNAMIC_DISPATCH(EachF64)(table, positions, count);
}

// Whether a table can be computed by recurrence. Growth must be slow enough
// that factors in range at one position do not overflow at the restart before
// it.
template <typename T>
bool CanUseRecurrence(const AngleTable<T>& table) {
  constexpr double kMaxGrowth = 64;  // of the logarithm, between two restarts
  return std::all_of(table.growth.begin(), table.growth.end(),
                     [](double growth) {
                       return std::abs(growth) * kRestartInterval <= kMaxGrowth;
                     });
}

}  // namespace

template <typename T>
void FillAngles(const AngleTable<T>& table, const Positions& positions,
                int64_t first, int64_t count) {
  if (count <= 0) return;
  if constexpr (sizeof(T) == sizeof(float)) {
    if (positions.is_range() && CanUseRecurrence(table)) {
      HWY_DYNAMIC_DISPATCH(RunF32)(table, positions[first], count);
      return;
    }
  }
  AngleTable<T> rest = table;
  for (int64_t i = 0; i < count; i += kRestartInterval) {
    const int64_t rows = std::min(kRestartInterval, count - i);
    int64_t some[kRestartInterval];
    for (int64_t r = 0; r < rows; ++r) some[r] = positions[first + i + r];
    Each(rest, some, rows);
    rest.sin += rows * rest.stride;
    if (rest.cos != nullptr) rest.cos += rows * rest.stride;
  }
}

template <typename T>
void FillAngles(const AngleTable<T>& table, int64_t position) {
  if constexpr (sizeof(T) == sizeof(float)) {
    if (CanUseRecurrence(table)) {
      HWY_DYNAMIC_DISPATCH(RunF32)(table, position, 1);
      return;
    }
  }
  Each(table, &position, 1);
}

template void FillAngles(const AngleTable<float>&, const Positions&, int64_t,
                         int64_t);
template void FillAngles(const AngleTable<double>&, const Positions&, int64_t,
                         int64_t);
template void FillAngles(const AngleTable<float>&, int64_t);
template void FillAngles(const AngleTable<double>&, int64_t);

}  // namespace locus
#endif  // HWY_ONCE
