// Packs a tile of keys and values into the order in which the inner loops read
// them, compiled for every instruction set that pays and chosen at run time.
// Numbers are converted and keys rotated on the way, a few rows at a time.
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

template <typename T>
T SquareSum(const T* row, int64_t count) {
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

// The largest of the numbers without their signs; infinite if one is not
// finite.
template <typename T>
T LargestMagnitude(const T* row, int64_t count) {
  constexpr Tag<T> d;
  auto largest = hn::Zero(d);
  auto finite = hn::Eq(largest, largest);
  const auto most = hn::Set(d, std::numeric_limits<T>::max());
  int64_t c = 0;
  for (; c + Lanes<T>() <= count; c += Lanes<T>()) {
    const auto x = hn::Abs(hn::LoadU(d, row + c));
    finite = hn::And(finite, hn::Le(x, most));
    largest = hn::Max(largest, x);
  }
  T result = hn::AllTrue(d, finite) ? hn::GetLane(hn::MaxOfLanes(d, largest))
                                    : std::numeric_limits<T>::infinity();
  for (; c < count; ++c) {
    result = std::isfinite(row[c]) ? std::max(result, std::abs(row[c]))
                                   : std::numeric_limits<T>::infinity();
  }
  return result;
}

// columns[c, 0 .. 3] = rows[0 .. 3][c]; columns: [count, 4].
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

// columns[c / 4, 0 .. rows - 1, c % 4] = rows[0 .. rows - 1][c], as many rows
// as a vector has blocks, and whole vectors of columns; columns: [columns / 4,
// stride / 4, 4]. Returns how many columns that were.
// Keeps the largest number without its sign, and makes NaN of `finite` if one
// is not finite.
template <typename T>
HWY_INLINE int64_t PackFours(const T* const* rows, int64_t count,
                             int64_t stride, T* HWY_RESTRICT columns,
                             Vector<T>& largest, Vector<T>& finite) {
  constexpr Tag<T> d;
  constexpr int64_t kRows = kBlockCount<T>;
  int64_t c = 0;
  for (; c + Lanes<T>() <= count; c += Lanes<T>()) {
    Vector<T> x[kRows];
    for (int64_t r = 0; r < kRows; ++r) {
      x[r] = hn::LoadU(d, rows[r] + c);
      largest = hn::Max(largest, hn::Abs(x[r]));
      finite = hn::MulAdd(x[r], hn::Zero(d), finite);
    }
    TransposeBlocks<T>(x, 1);
    for (int64_t r = 0; r < kRows; ++r) {
      hn::StoreU(x[r], d, columns + (c / kGroup + r) * stride);
    }
  }
  return c;
}

template <typename T>
class TilePacker {
 public:
  explicit TilePacker(const PackTask<T>& task)
      : task_(task), problem_(*task.problem) {
    own_ = ScratchArena<T>(problem_).Take(
        kGroup * std::max(problem_.dim, problem_.value_dim));
  }

  void Run() {
    PackKeys();
    PackValues();
  }

 private:
  void PackKeys() {
    const int64_t dim = problem_.dim;
    T largest_square = 0;
    for (int64_t n = 0; n < task_.count; n += kGroup) {
      const int64_t count = std::min(kGroup, task_.count - n);
      const T* const keys = Keys(task_.first + n, count);
      const T* rows[kGroup];
      for (int64_t r = 0; r < kGroup; ++r) {
        rows[r] = r < count ? keys + r * dim : Zeros(r);
        if (task_.measure) {
          const T square = SquareSum(rows[r], dim);
          largest_square = std::isnan(square)
                               ? std::numeric_limits<T>::infinity()
                               : std::max(largest_square, square);
        }
      }
      Interleave<T>(rows, dim, task_.keys + n * dim);
    }
    task_.facts->up_to_here.key_norm = std::sqrt(double{largest_square});
  }

  const T* Keys(int64_t j, int64_t count) const {
    RowAngles<T> angles;
    if (problem_.rotation) {
      const int64_t angle = j * problem_.rotation->pair_count();
      angles = {&*problem_.rotation, task_.cos + angle, task_.sin + angle};
    }
    return ReadRows<T>(problem_.inputs.k, problem_.KeyRow(0, task_.head, j),
                       count, problem_.dim, angles, own_);
  }

  // In place of the group's key r, which does not exist.
  const T* Zeros(int64_t r) const {
    T* const row = own_ + r * problem_.dim;
    std::fill_n(row, problem_.dim, T(0));
    return row;
  }

  const T* Values(int64_t n, int64_t count) const {
    return ReadRows<T>(problem_.inputs.v,
                       problem_.ValueRow(0, task_.head, task_.first + n), count,
                       problem_.value_dim, {}, own_);
  }

  // Many at a time, where blocks of vectors are the fours of a row; as it turns
  // out that a number is not finite, once more one by one.
  void PackValues() {
    T largest = 0;
    int64_t n = 0;
    if constexpr (kBlockNumbers<T> == kGroup) n = PackManyValues(&largest);
    if (!std::isfinite(largest)) n = 0;
    for (; n < task_.count; ++n) {
      largest = std::max(largest, PackValue(n));
    }
    task_.facts->irregular = !std::isfinite(largest);
    task_.facts->up_to_here.value = largest;
  }

  // Returns how many keys' values.
  int64_t PackManyValues(T* largest) {
    constexpr Tag<T> d;
    constexpr int64_t kRows = kBlockCount<T>;
    auto most = hn::Zero(d);
    auto finite = hn::Zero(d);
    int64_t n = 0;
    for (; n + kRows <= task_.count; n += kRows) {
      const T* const values = Values(n, kRows);
      const T* rows[kRows];
      for (int64_t r = 0; r < kRows; ++r) {
        rows[r] = values + r * problem_.value_dim;
      }
      const int64_t done =
          PackFours<T>(rows, problem_.value_dim, task_.count * kGroup,
                       task_.values + n * kGroup, most, finite);
      if (done == problem_.value_dim) continue;
      for (int64_t r = 0; r < kRows; ++r) {
        *largest = std::max(*largest, PackColumns(rows[r], done, n + r));
      }
    }
    const bool all = hn::AllTrue(d, hn::Eq(finite, finite));
    *largest = std::max(*largest, all ? hn::GetLane(hn::MaxOfLanes(d, most))
                                      : std::numeric_limits<T>::infinity());
    return n;
  }

  // Values of key n from a column on; returns the largest without its sign.
  T PackColumns(const T* row, int64_t column, int64_t n) {
    const int64_t dim = problem_.value_dim;
    const T magnitude = LargestMagnitude(row + column, dim - column);
    if (!std::isfinite(magnitude)) row = Finite(row);
    for (; column < dim; column += kGroup) {
      T* const to = task_.values + (column * task_.count + n * kGroup);
      const int64_t width = std::min(kGroup, dim - column);
      if (width < kGroup) std::fill_n(to, kGroup, T(0));
      std::copy_n(row + column, width, to);
    }
    return magnitude;
  }

  T PackValue(int64_t n) { return PackColumns(Values(n, 1), 0, n); }

  // The row with zeros for what is not finite.
  const T* Finite(const T* row) const {
    for (int64_t c = 0; c < problem_.value_dim; ++c) {
      own_[c] = std::isfinite(row[c]) ? row[c] : T(0);
    }
    return own_;
  }

  const PackTask<T>& task_;
  const AttentionProblem& problem_;
  T* own_;  // four rows
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
