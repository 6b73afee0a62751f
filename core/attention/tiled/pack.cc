// Packs a tile of keys and values into the order in which the inner loops read
// them. Rows are converted to the type of the kernel, and keys are rotated, a
// few rows at a time. Compiled for several instruction sets; the best one is
// chosen at run time.
#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#include "core/attention/tiled/rows.h"
#include "core/attention/tiled/tile.h"

#include "core/simd/simd.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/attention/tiled/pack.cc"
#include <hwy/foreach_target.h>  // must come before highway.h

#include <hwy/highway.h>

#include "core/attention/tiled/scratch.h"
#include "core/attention/tiled/tile-inl.h"
#include "core/attention/tiled/transpose-inl.h"

HWY_BEFORE_NAMESPACE();
namespace locus {
namespace HWY_NAMESPACE {

// Squared Euclidean norm of a row.
template <typename T>
T SumOfSquares(const T* row, int64_t count) {
  constexpr Tag<T> d;
  auto sum = hn::Zero(d);
  int64_t c = 0;
  for (; c + Lanes<T>() <= count; c += Lanes<T>()) {
    const auto x = hn::LoadU(d, row + c);
    sum = hn::MulAdd(x, x, sum);
  }
  T total = hn::GetLane(hn::SumOfLanes(d, sum));
  for (; c < count; ++c) total += row[c] * row[c];
  return total;
}

// The largest absolute element of a row; infinite if an element is not finite.
template <typename T>
T MaxAbs(const T* row, int64_t count) {
  constexpr Tag<T> d;
  auto max = hn::Zero(d);
  auto finite = hn::Eq(max, max);
  const auto max_finite = hn::Set(d, std::numeric_limits<T>::max());
  int64_t c = 0;
  for (; c + Lanes<T>() <= count; c += Lanes<T>()) {
    const auto x = hn::Abs(hn::LoadU(d, row + c));
    finite = hn::And(finite, hn::Le(x, max_finite));
    max = hn::Max(max, x);
  }
  T result = hn::AllTrue(d, finite) ? hn::GetLane(hn::MaxOfLanes(d, max))
                                    : std::numeric_limits<T>::infinity();
  for (; c < count; ++c) {
    result = std::isfinite(row[c]) ? std::max(result, std::abs(row[c]))
                                   : std::numeric_limits<T>::infinity();
  }
  return result;
}

// Sets columns[c, r] = rows[r][c] for four rows. columns: [count, 4].
template <typename T>
HWY_INLINE void Interleave(const T* const (&rows)[kGroup], int64_t count,
                           T* HWY_RESTRICT columns) {
  constexpr Tag<T> d;
  int64_t c = 0;
  for (; c + Lanes<T>() <= count; c += Lanes<T>()) {
    hn::StoreInterleaved4(hn::LoadU(d, rows[0] + c), hn::LoadU(d, rows[1] + c),
                          hn::LoadU(d, rows[2] + c), hn::LoadU(d, rows[3] + c),
                          d, columns + c * kGroup);
  }
  for (; c < count; ++c) {
    for (int r = 0; r < kGroup; ++r) columns[c * kGroup + r] = rows[r][c];
  }
}

// Largest absolute element and finiteness of the elements added so far, per
// lane.
template <typename T>
struct ElementRange {
  Vector<T> max_abs;
  Vector<T> finite;  // 0, or NaN if an element was not finite
};

// Sets columns[c / 4, r, c % 4] = rows[r][c] for as many rows as a vector has
// blocks and for all c in whole vectors. columns: [count / 4, stride / 4, 4].
// Returns the number of columns that were packed, and adds their elements to
// `range`.
template <typename T>
HWY_INLINE int64_t PackGroups(const T* const* rows, int64_t count,
                              int64_t stride, T* HWY_RESTRICT columns,
                              ElementRange<T>& range) {
  constexpr Tag<T> d;
  constexpr int64_t kRows = kBlockCount<T>;
  int64_t c = 0;
  for (; c + Lanes<T>() <= count; c += Lanes<T>()) {
    Vector<T> x[kRows];
    for (int64_t r = 0; r < kRows; ++r) {
      x[r] = hn::LoadU(d, rows[r] + c);
      range.max_abs = hn::Max(range.max_abs, hn::Abs(x[r]));
      range.finite = hn::MulAdd(x[r], hn::Zero(d), range.finite);
    }
    TransposeBlocks<T>(x, 1);
    for (int64_t r = 0; r < kRows; ++r) {
      hn::StoreU(x[r], d, columns + (c / kGroup + r) * stride);
    }
  }
  return c;
}

// Implementation of PackTile().
template <typename T>
class TilePacker {
 public:
  explicit TilePacker(const PackTask<T>& task)
      : task_(task), problem_(*task.problem) {
    buffer_ = ScratchArena<T>(problem_).Allocate(
        kGroup * std::max(problem_.dim, problem_.value_dim));
  }

  void Run() {
    PackKeys();
    PackValues();
  }

 private:
  void PackKeys() {
    const int64_t dim = problem_.dim;
    T max_square = 0;
    for (int64_t n = 0; n < task_.count; n += kGroup) {
      const int64_t count = std::min(kGroup, task_.count - n);
      const T* const keys = Keys(task_.first + n, count);
      const T* rows[kGroup];
      for (int64_t r = 0; r < kGroup; ++r) {
        rows[r] = r < count ? keys + r * dim : Zeros(r);
        if (task_.compute_bound) {
          const T square = SumOfSquares(rows[r], dim);
          max_square = std::isnan(square) ? std::numeric_limits<T>::infinity()
                                          : std::max(max_square, square);
        }
      }
      Interleave<T>(rows, dim, task_.keys + n * dim);
    }
    task_.info->prefix_bound.max_key_norm = std::sqrt(double{max_square});
  }

  // The rotated keys [j, j + count).
  const T* Keys(int64_t j, int64_t count) const {
    RowAngles<T> angles;
    if (problem_.rotation) {
      const int64_t angle = j * problem_.rotation->pair_count();
      angles = {&*problem_.rotation, task_.cos + angle, task_.sin + angle};
    }
    return ReadRows<T>(problem_.inputs.k, problem_.KeyRow(0, task_.head, j),
                       count, problem_.dim, angles, buffer_);
  }

  // A row of zeros that pads the last group, stored as row r of the buffer.
  const T* Zeros(int64_t r) const {
    T* const row = buffer_ + r * problem_.dim;
    std::fill_n(row, problem_.dim, T(0));
    return row;
  }

  // The values of `count` keys, beginning with key n of the tile.
  const T* Values(int64_t n, int64_t count) const {
    return ReadRows<T>(problem_.inputs.v,
                       problem_.ValueRow(0, task_.head, task_.first + n), count,
                       problem_.value_dim, {}, buffer_);
  }

  // Packs several rows at a time if a group of columns is a block of a vector.
  // If a value turns out not to be finite, all rows are packed again, one by
  // one.
  void PackValues() {
    T max = 0;
    int64_t n = 0;
    if constexpr (kBlockElements<T> == kGroup) n = PackValueRows(&max);
    if (!std::isfinite(max)) n = 0;
    for (; n < task_.count; ++n) {
      max = std::max(max, PackValue(n));
    }
    task_.info->has_non_finite = !std::isfinite(max);
    task_.info->prefix_bound.max_abs_value = max;
  }

  // Packs the values of the first keys, several rows at a time, and raises
  // `max` to their largest absolute element, or to infinity if one is not
  // finite. Returns the number of keys.
  int64_t PackValueRows(T* max) {
    constexpr Tag<T> d;
    constexpr int64_t kRows = kBlockCount<T>;
    ElementRange<T> range = {hn::Zero(d), hn::Zero(d)};
    int64_t n = 0;
    for (; n + kRows <= task_.count; n += kRows) {
      const T* const values = Values(n, kRows);
      const T* rows[kRows];
      for (int64_t r = 0; r < kRows; ++r) {
        rows[r] = values + r * problem_.value_dim;
      }
      const int64_t done =
          PackGroups<T>(rows, problem_.value_dim, task_.count * kGroup,
                        task_.values + n * kGroup, range);
      if (done == problem_.value_dim) continue;
      for (int64_t r = 0; r < kRows; ++r) {
        *max = std::max(*max, PackColumns(rows[r], done, n + r));
      }
    }
    const bool all_finite = hn::AllTrue(d, hn::Eq(range.finite, range.finite));
    *max = std::max(*max, all_finite
                              ? hn::GetLane(hn::MaxOfLanes(d, range.max_abs))
                              : std::numeric_limits<T>::infinity());
    return n;
  }

  // Packs the values of key n, beginning with `column`. Returns their largest
  // absolute element, or infinity if one is not finite.
  T PackColumns(const T* row, int64_t column, int64_t n) {
    const int64_t dim = problem_.value_dim;
    const T max = MaxAbs(row + column, dim - column);
    if (!std::isfinite(max)) row = ReplaceNonFinite(row);
    for (; column < dim; column += kGroup) {
      T* const to = task_.values + (column * task_.count + n * kGroup);
      const int64_t width = std::min(kGroup, dim - column);
      if (width < kGroup) std::fill_n(to, kGroup, T(0));
      std::copy_n(row + column, width, to);
    }
    return max;
  }

  // Packs all values of key n; returns the same as PackColumns().
  T PackValue(int64_t n) { return PackColumns(Values(n, 1), 0, n); }

  // Returns a copy of a row of values with zeros for non-finite elements.
  const T* ReplaceNonFinite(const T* row) const {
    for (int64_t c = 0; c < problem_.value_dim; ++c) {
      buffer_[c] = std::isfinite(row[c]) ? row[c] : T(0);
    }
    return buffer_;
  }

  const PackTask<T>& task_;
  const AttentionProblem& problem_;
  T* buffer_;  // kGroup rows of keys or values
};

void PackTileF32(const PackTask<float>& task) {
  TilePacker<float>(task).Run();
  TrimThreadScratch();
}
void PackTileF64(const PackTask<double>& task) {
  TilePacker<double>(task).Run();
  TrimThreadScratch();
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace locus
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace locus {

HWY_EXPORT(PackTileF32);
HWY_EXPORT(PackTileF64);

template <>
void TiledKernel<float>::PackTile(const PackTask<float>& task) {
  HWY_DYNAMIC_DISPATCH(PackTileF32)(task);
}
template <>
void TiledKernel<double>::PackTile(const PackTask<double>& task) {
  HWY_DYNAMIC_DISPATCH(PackTileF64)(task);
}

}  // namespace locus
#endif  // HWY_ONCE
