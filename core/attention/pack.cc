// Packs a tile of keys and values into the order in which the inner loops read
// them, compiled for every instruction set that pays and chosen at run time.
// Numbers are converted and keys rotated on the way, a few rows at a time.
#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#include "core/attention/tile.h"

#include "core/base/simd.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/attention/pack.cc"
#include <hwy/foreach_target.h>  // must come before highway.h

#include <hwy/highway.h>

#include "core/attention/scratch.h"
#include "core/attention/tile-inl.h"

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

template <typename T>
class TilePacker {
 public:
  explicit TilePacker(const PackTask<T>& task)
      : task_(task), problem_(*task.problem) {
    ScratchArena<T> arena(problem_);
    for (T*& row : rows_) {
      row = arena.Take(std::max(problem_.dim, problem_.value_dim));
    }
  }

  void Run() {
    PackKeys();
    PackValues();
  }

 private:
  // A row of the tensor as T: where it lies if it needs no change, else in
  // `own`.
  const T* Row(const TensorView& tensor, int64_t element, int64_t count,
               bool change, T* own) const {
    const char* const bytes = tensor.at(element);
    if (!change && IsArrayOf<T>(tensor.dtype, bytes)) {
      return reinterpret_cast<const T*>(bytes);
    }
    ReadRow(tensor.dtype, bytes, count, own);
    return own;
  }

  void PackKeys() {
    const int64_t dim = problem_.dim;
    T largest_square = 0;
    for (int64_t n = 0; n < task_.count; n += kGroup) {
      const T* rows[kGroup];
      for (int64_t r = 0; r < kGroup; ++r) {
        if (n + r < task_.count) {
          rows[r] = Key(task_.first + n + r, rows_[r]);
        } else {
          std::fill_n(rows_[r], dim, T(0));
          rows[r] = rows_[r];
        }
        if (task_.measure) {
          const T square = SquareSum(rows[r], dim);
          largest_square = std::isnan(square)
                               ? std::numeric_limits<T>::infinity()
                               : std::max(largest_square, square);
        }
      }
      Interleave<T>(rows, dim, T(1), task_.keys + n * dim);
    }
    task_.facts->up_to_here.key_norm = std::sqrt(double{largest_square});
  }

  const T* Key(int64_t j, T* own) const {
    const bool turns = problem_.rotation.has_value();
    const T* const row =
        Row(problem_.inputs.k, problem_.KeyRow(0, task_.head, j), problem_.dim,
            turns, own);
    if (turns) {
      const int64_t angle = j * problem_.rotation->pair_count();
      problem_.rotation->Apply(task_.cos + angle, task_.sin + angle, own);
    }
    return row;
  }

  void PackValues() {
    const int64_t dim = problem_.value_dim;
    T largest = 0;
    for (int64_t n = 0; n < task_.count; ++n) {
      const T* row = Row(problem_.inputs.v,
                         problem_.ValueRow(0, task_.head, task_.first + n), dim,
                         false, rows_[0]);
      const T magnitude = LargestMagnitude(row, dim);
      largest = std::max(largest, magnitude);
      if (!std::isfinite(magnitude)) row = Finite(row, rows_[1]);
      const int64_t whole = dim / kGroup;
      T* const to = task_.values + n * kGroup;
      CopyFours<T>(row, kGroup, whole, to, task_.count * kGroup);
      if (dim % kGroup != 0) {
        T* const last = to + whole * task_.count * kGroup;
        std::fill_n(last, kGroup, T(0));
        std::copy(row + whole * kGroup, row + dim, last);
      }
    }
    task_.facts->irregular = !std::isfinite(largest);
    task_.facts->up_to_here.value = largest;
  }

  // The row with zeros for what is not finite.
  const T* Finite(const T* row, T* own) const {
    for (int64_t c = 0; c < problem_.value_dim; ++c) {
      own[c] = std::isfinite(row[c]) ? row[c] : T(0);
    }
    return own;
  }

  const PackTask<T>& task_;
  const AttentionProblem& problem_;
  T* rows_[kGroup];
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
