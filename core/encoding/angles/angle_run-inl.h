// Rows of sines and cosines for a run of consecutive positions, by recurrence.
//
// In a run, each element follows from the two elements above it in its column
// (the Chebyshev recurrence):
//
//   f((n + 1) w) = 2 cos(w) f(n w) - f((n - 1) w),  f = sin or cos
//
// The rounding error grows with the square of the number of steps, to 2^-42
// after 64 steps. With a growth of e^g per position the recurrence is
//
//   h(n + 1) = 2 e^g cos(w) h(n) - e^2g h(n - 1),  h(n) = e^(g n) f(n w)
//
// Included once per instruction set; see core/simd/simd.h.
#if defined(LOCUS_CORE_ENCODING_ANGLES_ANGLE_RUN_INL_H_) == \
    defined(HWY_TARGET_TOGGLE)
#ifdef LOCUS_CORE_ENCODING_ANGLES_ANGLE_RUN_INL_H_
#undef LOCUS_CORE_ENCODING_ANGLES_ANGLE_RUN_INL_H_
#else
#define LOCUS_CORE_ENCODING_ANGLES_ANGLE_RUN_INL_H_
#endif

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <utility>

#include <hwy/highway.h>

#include "core/encoding/angles/angles.h"
#include "core/encoding/angles/sin_cos-inl.h"
#include "core/simd/streaming_stores-inl.h"

HWY_BEFORE_NAMESPACE();
namespace locus {
namespace HWY_NAMESPACE {

// Size of the part of a table that is computed at once. It is small enough for
// the state to stay in the L1 cache and for writes to touch few pages.
constexpr int64_t kPanelColumns = 256;
constexpr int64_t kPanelRows = 16;

// The columns that one iteration advances: as many as fit into registers. The
// vectors are separate members because compilers keep arrays in memory.
struct Group {
  static constexpr int64_t kWidth = 4 * kLanes;
  // Distance in memory between the two halves of a group, in elements.
  static constexpr int64_t kPageElements = 512;

  Vector<double> a, b, c, d;

  static HWY_INLINE Group Load(const double* from) {
    constexpr Tag<double> tag;
    return {hn::Load(tag, from), hn::Load(tag, from + kLanes),
            hn::Load(tag, from + kPageElements),
            hn::Load(tag, from + kPageElements + kLanes)};
  }
  HWY_INLINE void Store(double* to) const {
    constexpr Tag<double> tag;
    hn::Store(a, tag, to);
    hn::Store(b, tag, to + kLanes);
    hn::Store(c, tag, to + kPageElements);
    hn::Store(d, tag, to + kPageElements + kLanes);
  }
  // The next row of the recurrence, given the row before this one and 2 cos(w).
  HWY_INLINE Group Next(const Group& previous, const Group& twice) const {
    return {
        hn::MulSub(twice.a, a, previous.a), hn::MulSub(twice.b, b, previous.b),
        hn::MulSub(twice.c, c, previous.c), hn::MulSub(twice.d, d, previous.d)};
  }
  HWY_INLINE Group Times(const Group& by) const {
    return {hn::Mul(a, by.a), hn::Mul(b, by.b), hn::Mul(c, by.c),
            hn::Mul(d, by.d)};
  }
  template <bool kStreaming>
  HWY_INLINE void Write(float* to) const {
    constexpr hn::ScalableTag<float> tag;
#if HWY_TARGET == HWY_SCALAR
    StoreVector<kStreaming>(tag, Rounded(a), to);
    StoreVector<kStreaming>(tag, Rounded(b), to + 1);
    StoreVector<kStreaming>(tag, Rounded(c), to + 2);
    StoreVector<kStreaming>(tag, Rounded(d), to + 3);
#else
    StoreVector<kStreaming>(tag, Rounded(a, b), to);
    StoreVector<kStreaming>(tag, Rounded(c, d), to + 2 * kLanes);
#endif
  }
};

// State of the recurrence for some columns of a table.
//
// The memory layout avoids 4K aliasing: a processor delays a load until an
// earlier store has finished if their addresses agree in the low 12 bits.
// Streaming stores finish late, and if rows are a power of two apart, all
// pending stores agree in these bits; tables were then written at half the
// speed. The state therefore has the column order of a row of the table, with
// the two halves of each group in separate pages, and is offset so that it
// starts between two rows modulo the page size.
class Panel {
 public:
  // State for columns that begin at `target`, in a table with `stride` bytes
  // from one row to the next.
  Panel(const float* target, int64_t stride) {
    const int64_t gap = std::gcd(stride, kPageBytes) / 2;
    const auto offset =
        static_cast<int64_t>(reinterpret_cast<uintptr_t>(target)) + gap;
    shift_ = offset % kPageBytes / kHalfBytes * kHalf;
  }

  // Address of the state of a column: the current row, the row before it,
  // 2 cos(w) and the growth e^2g.
  HWY_INLINE double* Current(int64_t column) { return At(0, column); }
  HWY_INLINE double* Previous(int64_t column) { return At(2, column); }
  HWY_INLINE double* TwiceCos(int64_t column) { return At(4, column); }
  HWY_INLINE double* Growth(int64_t column) { return At(6, column); }

  // Advances a group of columns from row i to row `end`. Writes the rows
  // passed, except those before row 0, to consecutive rows from `to` on.
  template <bool kStreaming, bool kGrows>
  HWY_NOINLINE void Advance(int64_t column, int64_t i, int64_t end, float* to,
                            int64_t stride) {
    double* const x_state = Current(column);
    double* const y_state = Previous(column);
    Group x = Group::Load(x_state);
    Group y = Group::Load(y_state);
    const Group twice = Group::Load(TwiceCos(column));
    const Group growth = kGrows ? Group::Load(Growth(column)) : twice;
    // Replaces `previous` by the row after `current`.
    const auto step = [&](Group& current, Group& previous) HWY_ATTR {
      previous = current.Next(previous, twice);
      if constexpr (kGrows) current = current.Times(growth);
    };
    for (; i < std::min<int64_t>(end, 0); ++i) {
      step(x, y);
      std::swap(x, y);
    }
    for (; i + 1 < end; i += 2, to += 2 * stride) {
      x.Write<kStreaming>(to);
      step(x, y);
      y.Write<kStreaming>(to + stride);
      step(y, x);
    }
    if (i < end) {
      x.Write<kStreaming>(to);
      step(x, y);
      std::swap(x, y);
    }
    x.Store(x_state);
    y.Store(y_state);
  }

  // Same as Advance(), for any number of columns. The last partial group goes
  // through a buffer.
  template <bool kStreaming, bool kGrows>
  HWY_INLINE void AdvanceAll(int64_t count, int64_t i, int64_t end, float* to,
                             int64_t stride) {
    const int64_t first = std::max<int64_t>(i, 0);
    int64_t c = 0;
    for (; c + Group::kWidth <= count; c += Group::kWidth) {
      Advance<kStreaming, kGrows>(c, i, end, to + first * stride + c, stride);
    }
    if (c == count) return;
    HWY_ALIGN float part[kPanelRows * Group::kWidth];
    Advance<false, kGrows>(c, i, end, part, Group::kWidth);
    for (int64_t r = first; r < end; ++r) {
      std::copy_n(part + (r - first) * Group::kWidth, count - c,
                  to + r * stride + c);
    }
  }

 private:
  static constexpr int64_t kPageBytes = Group::kPageElements * sizeof(double);
  static constexpr int64_t kHalf = Group::kWidth / 2;
  static constexpr int64_t kHalfBytes = kHalf * sizeof(double);
  static_assert(kPanelColumns <= Group::kPageElements);

  HWY_INLINE double* At(int64_t page, int64_t column) {
    const int64_t half = column / kHalf;
    return pages_ + (page + half % 2) * Group::kPageElements +
           (shift_ + half / 2 * kHalf) % Group::kPageElements + column % kHalf;
  }

  int64_t shift_;
  alignas(kPageBytes) double pages_[8 * Group::kPageElements];
};

// Computes some pairs of a table: one panel of columns if sines and cosines are
// interleaved, otherwise one for sines and one for cosines.
template <bool kStreaming>
class Run {
 public:
  static constexpr int64_t kPairs = kPanelColumns / 2;

  // The table must have at most kPairs frequencies.
  explicit Run(const AngleTable<float>& table)
      : table_(table),
        pairs_(static_cast<int64_t>(table.frequencies.size())),
        grows_(!table.growth.empty()),
        interleaved_(table.layout == AngleTable<float>::Layout::kInterleaved),
        sines_(table.sin, StrideBytes(table)),
        cosines_(table.cos, StrideBytes(table)) {
    for (int64_t k = 0; k < pairs_; k += kVectors * kLanes) {
      Rotations rotations[kVectors];
      Vector<double> sin[kVectors], cos[kVectors];
      LoadRotations<kVectors>(table.frequencies, k, rotations);
      SinCos<kVectors>(1, rotations, sin, cos);
      Vector<double> growth[kVectors];
      if (grows_) GrowthFactors<kVectors>(table.growth, k, 1, growth);
      for (int v = 0; v < kVectors; ++v) {
        const int64_t at = k + v * kLanes;
        if (grows_) {
          sin[v] = hn::Mul(sin[v], growth[v]);
          cos[v] = hn::Mul(cos[v], growth[v]);
          const Vector<double> squared = hn::Mul(growth[v], growth[v]);
          StoreState(squared, squared, at, &Panel::Growth);
        }
        hn::Store(sin[v], Tag<double>(), step_sin_ + at);
        hn::Store(cos[v], Tag<double>(), step_cos_ + at);
        const Vector<double> twice = hn::Add(cos[v], cos[v]);
        StoreState(twice, twice, at, &Panel::TwiceCos);
      }
    }
  }

  // Fills the rows of the `count` positions from `start` on.
  void Fill(int64_t start, int64_t count) {
    int64_t i = -(start & (kRestartInterval - 1));
    while (i < count) {
      Restart(static_cast<double>(start + i));
      const int64_t end = std::min(count, i + kRestartInterval);
      while (i < end) {
        const int64_t next = std::min(end, i + kPanelRows);
        Advance(i, next);
        i = next;
      }
    }
  }

 private:
  static constexpr int kVectors = 4;

  static int64_t StrideBytes(const AngleTable<float>& table) {
    return table.stride * static_cast<int64_t>(sizeof(float));
  }

  // Stores sines and cosines of the pairs from k on in the state of their
  // columns.
  HWY_INLINE void StoreState(Vector<double> sin, Vector<double> cos, int64_t k,
                             double* (Panel::*where)(int64_t)) {
    constexpr Tag<double> d;
    if (interleaved_) {
      hn::StoreInterleaved2(sin, cos, d, (sines_.*where)(2 * k));
    } else {
      hn::Store(sin, d, (sines_.*where)(k));
      hn::Store(cos, d, (cosines_.*where)(k));
    }
  }

  // Computes the rows at `position` and before it without recurrence.
  void Restart(double position) {
    for (int64_t k = 0; k < pairs_; k += kVectors * kLanes) {
      Rotations rotations[kVectors];
      Vector<double> sin[kVectors], cos[kVectors];
      LoadRotations<kVectors>(table_.frequencies, k, rotations);
      SinCos<kVectors>(position, rotations, sin, cos);
      Vector<double> factors[kVectors];
      Factors<float, kVectors>(table_, k, position, factors);
      for (int v = 0; v < kVectors; ++v) {
        const int64_t at = k + v * kLanes;
        const Vector<double> s = hn::Mul(sin[v], factors[v]);
        const Vector<double> c = hn::Mul(cos[v], factors[v]);
        StoreState(s, c, at, &Panel::Current);
        const Vector<double> step_sin = hn::Load(Tag<double>(), step_sin_ + at);
        const Vector<double> step_cos = hn::Load(Tag<double>(), step_cos_ + at);
        StoreState(hn::MulSub(s, step_cos, hn::Mul(c, step_sin)),
                   hn::MulAdd(c, step_cos, hn::Mul(s, step_sin)), at,
                   &Panel::Previous);
      }
    }
  }

  void Advance(int64_t i, int64_t end) {
    grows_ ? AdvanceAll<true>(i, end) : AdvanceAll<false>(i, end);
  }

  template <bool kGrows>
  HWY_INLINE void AdvanceAll(int64_t i, int64_t end) {
    sines_.AdvanceAll<kStreaming, kGrows>(interleaved_ ? 2 * pairs_ : pairs_, i,
                                          end, table_.sin, table_.stride);
    if (interleaved_ || table_.cos == nullptr) return;
    cosines_.AdvanceAll<kStreaming, kGrows>(pairs_, i, end, table_.cos,
                                            table_.stride);
  }

  const AngleTable<float> table_;
  const int64_t pairs_;
  const bool grows_;
  const bool interleaved_;
  Panel sines_;  // both sines and cosines if interleaved
  Panel cosines_;
  HWY_ALIGN double step_sin_[kPairs];
  HWY_ALIGN double step_cos_[kPairs];
};

// Fills the rows of the `count` positions from `start` on.
template <bool kStreaming>
void FillRun(const AngleTable<float>& table, int64_t start, int64_t count) {
  const auto pairs = static_cast<int64_t>(table.frequencies.size());
  const bool interleaved =
      table.layout == AngleTable<float>::Layout::kInterleaved;
  for (int64_t k = 0; k < pairs; k += Run<kStreaming>::kPairs) {
    AngleTable<float> part = table;
    part.frequencies = table.frequencies.subspan(k, Run<kStreaming>::kPairs);
    if (!table.growth.empty()) {
      part.growth = table.growth.subspan(k, Run<kStreaming>::kPairs);
    }
    part.sin += interleaved ? 2 * k : k;
    if (part.cos != nullptr) part.cos += k;
    Run<kStreaming>(part).Fill(start, count);
  }
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace locus
HWY_AFTER_NAMESPACE();

#endif  // LOCUS_CORE_ENCODING_ANGLES_ANGLE_RUN_INL_H_
