// Rows of angles for a run of positions, each from the two before. To be
// included by files that are compiled once for each instruction set.
//
// In a run, what stands in a column follows from the two numbers above it:
//
//   f((n + 1) w) = 2 cos(w) f(n w) - f((n - 1) w),  f = sin or cos
//
// Rounding grows with the square of the steps, to 2^-42 after 64. If they also
// grow by e^g with each position, so do both terms on the right, the second
// twice:
//
//   h(n + 1) = 2 e^g cos(w) h(n) - e^2g h(n - 1),  h(n) = e^(g n) f(n w)
#if defined(LOCUS_CORE_ENCODING_ANGLES_ANGLE_RUN_INL_H_) == defined(HWY_TARGET_TOGGLE)
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

#include "core/simd/streaming_stores-inl.h"
#include "core/encoding/angles/angles.h"
#include "core/encoding/angles/sin_cos-inl.h"

HWY_BEFORE_NAMESPACE();
namespace locus {
namespace HWY_NAMESPACE {

// So many columns are on the way at once, and so many rows before the next
// columns have their turn: what is needed stays in the nearest cache, and few
// pages of the table are open.
constexpr int64_t kPanelColumns = 256;
constexpr int64_t kPanelRows = 16;

// As many columns as registers allow, by name: compilers leave arrays in
// memory.
struct Group {
  static constexpr int64_t kWidth = 4 * kLanes;
  // In memory, its halves are that far apart.
  static constexpr int64_t kPageNumbers = 512;

  Vector<double> a, b, c, d;

  static HWY_INLINE Group Load(const double* from) {
    constexpr Tag<double> tag;
    return {hn::Load(tag, from), hn::Load(tag, from + kLanes),
            hn::Load(tag, from + kPageNumbers),
            hn::Load(tag, from + kPageNumbers + kLanes)};
  }
  HWY_INLINE void Store(double* to) const {
    constexpr Tag<double> tag;
    hn::Store(a, tag, to);
    hn::Store(b, tag, to + kLanes);
    hn::Store(c, tag, to + kPageNumbers);
    hn::Store(d, tag, to + kPageNumbers + kLanes);
  }
  // What comes after this, if `before` came before it.
  HWY_INLINE Group Next(const Group& before, const Group& twice) const {
    return {hn::MulSub(twice.a, a, before.a), hn::MulSub(twice.b, b, before.b),
            hn::MulSub(twice.c, c, before.c), hn::MulSub(twice.d, d, before.d)};
  }
  HWY_INLINE Group Times(const Group& by) const {
    return {hn::Mul(a, by.a), hn::Mul(b, by.b), hn::Mul(c, by.c),
            hn::Mul(d, by.d)};
  }
  template <bool kPast>
  HWY_INLINE void Write(float* to) const {
    constexpr hn::ScalableTag<float> tag;
#if HWY_TARGET == HWY_SCALAR
    Put<kPast>(tag, Rounded(a), to);
    Put<kPast>(tag, Rounded(b), to + 1);
    Put<kPast>(tag, Rounded(c), to + 2);
    Put<kPast>(tag, Rounded(d), to + 3);
#else
    Put<kPast>(tag, Rounded(a, b), to);
    Put<kPast>(tag, Rounded(c, d), to + 2 * kLanes);
#endif
  }
};

// Columns of a table.
//
// A processor takes a load for one of what was stored shortly before if their
// addresses agree in the last 12 bits, and makes it wait for the store. Past
// the cache, that is long: where rows are a power of two apart, all that is on
// its way to memory has the same 12 bits, and tables were written at half the
// speed. So columns lie here as in a row of the table, in halves of groups that
// take as many bytes here as two of them there, one page for each half, and
// the pages begin between two rows.
class Panel {
 public:
  // For that part of a table, with that many bytes from row to row.
  Panel(const float* target, int64_t stride) {
    const int64_t gap = std::gcd(stride, kPageBytes) / 2;
    const auto offset =
        static_cast<int64_t>(reinterpret_cast<uintptr_t>(target)) + gap;
    shift_ = offset % kPageBytes / kHalfBytes * kHalf;
  }

  // Where columns begin that are a vector or two halves of a group.
  HWY_INLINE double* Now(int64_t column) { return At(0, column); }
  HWY_INLINE double* Before(int64_t column) { return At(2, column); }
  HWY_INLINE double* TwiceCos(int64_t column) { return At(4, column); }
  HWY_INLINE double* Growth(int64_t column) { return At(6, column); }

  // A group of columns from the position of row i to that of row `end`; rows
  // passed, but for those before row 0, are written to `to` and after it.
  template <bool kPast, bool kGrows>
  HWY_NOINLINE void Advance(int64_t column, int64_t i, int64_t end, float* to,
                            int64_t stride) {
    double* const now = Now(column);
    double* const before = Before(column);
    Group x = Group::Load(now);
    Group y = Group::Load(before);
    const Group twice = Group::Load(TwiceCos(column));
    const Group growth = kGrows ? Group::Load(Growth(column)) : twice;
    // From `from` and what came before it to what comes after and `from`.
    const auto step = [&](Group& from, Group& before) HWY_ATTR {
      before = from.Next(before, twice);
      if constexpr (kGrows) from = from.Times(growth);
    };
    for (; i < std::min<int64_t>(end, 0); ++i) {
      step(x, y);
      std::swap(x, y);
    }
    for (; i + 1 < end; i += 2, to += 2 * stride) {
      x.Write<kPast>(to);
      step(x, y);
      y.Write<kPast>(to + stride);
      step(y, x);
    }
    if (i < end) {
      x.Write<kPast>(to);
      step(x, y);
      std::swap(x, y);
    }
    x.Store(now);
    y.Store(before);
  }

  // The same for `count` columns, however many they are.
  template <bool kPast, bool kGrows>
  HWY_INLINE void AdvanceAll(int64_t count, int64_t i, int64_t end, float* to,
                             int64_t stride) {
    const int64_t first = std::max<int64_t>(i, 0);
    int64_t c = 0;
    for (; c + Group::kWidth <= count; c += Group::kWidth) {
      Advance<kPast, kGrows>(c, i, end, to + first * stride + c, stride);
    }
    if (c == count) return;
    HWY_ALIGN float some[kPanelRows * Group::kWidth];
    Advance<false, kGrows>(c, i, end, some, Group::kWidth);
    for (int64_t r = first; r < end; ++r) {
      std::copy_n(some + (r - first) * Group::kWidth, count - c,
                  to + r * stride + c);
    }
  }

 private:
  static constexpr int64_t kPageBytes = Group::kPageNumbers * sizeof(double);
  static constexpr int64_t kHalf = Group::kWidth / 2;
  static constexpr int64_t kHalfBytes = kHalf * sizeof(double);
  static_assert(kPanelColumns <= Group::kPageNumbers);

  HWY_INLINE double* At(int64_t page, int64_t column) {
    const int64_t half = column / kHalf;
    return pages_ + (page + half % 2) * Group::kPageNumbers +
           (shift_ + half / 2 * kHalf) % Group::kPageNumbers + column % kHalf;
  }

  int64_t shift_;
  alignas(kPageBytes) double pages_[8 * Group::kPageNumbers];
};

// Some pairs of a table: of a table of sines and cosines alternating, one panel
// of columns, else two.
template <bool kPast>
class Run {
 public:
  static constexpr int64_t kPairs = kPanelColumns / 2;

  // Of at most kPairs frequencies.
  explicit Run(const AngleTable<float>& table)
      : table_(table),
        pairs_(static_cast<int64_t>(table.frequencies.size())),
        grows_(!table.growth.empty()),
        alternating_(table.layout == AngleTable<float>::Layout::kAlternating),
        sines_(table.sin, StrideBytes(table)),
        cosines_(table.cos, StrideBytes(table)) {
    for (int64_t k = 0; k < pairs_; k += kAtOnce * kLanes) {
      Turns turns[kAtOnce];
      Vector<double> sin[kAtOnce], cos[kAtOnce];
      LoadTurns<kAtOnce>(table.frequencies, k, turns);
      SinCos<kAtOnce>(1, turns, sin, cos);
      Vector<double> growth[kAtOnce];
      if (grows_) Grown<kAtOnce>(table.growth, k, 1, growth);
      for (int v = 0; v < kAtOnce; ++v) {
        const int64_t at = k + v * kLanes;
        if (grows_) {
          sin[v] = hn::Mul(sin[v], growth[v]);
          cos[v] = hn::Mul(cos[v], growth[v]);
          const Vector<double> squared = hn::Mul(growth[v], growth[v]);
          Place(squared, squared, at, &Panel::Growth);
        }
        hn::Store(sin[v], Tag<double>(), step_sin_ + at);
        hn::Store(cos[v], Tag<double>(), step_cos_ + at);
        const Vector<double> twice = hn::Add(cos[v], cos[v]);
        Place(twice, twice, at, &Panel::TwiceCos);
      }
    }
  }

  void Fill(int64_t start, int64_t count) {
    int64_t i = -(start & (kFreshPositions - 1));
    while (i < count) {
      Restart(static_cast<double>(start + i));
      const int64_t end = std::min(count, i + kFreshPositions);
      while (i < end) {
        const int64_t next = std::min(end, i + kPanelRows);
        Advance(i, next);
        i = next;
      }
    }
  }

 private:
  static constexpr int kAtOnce = 4;

  static int64_t StrideBytes(const AngleTable<float>& table) {
    return table.stride * static_cast<int64_t>(sizeof(float));
  }

  // Puts sines and cosines of pairs from k on to where their columns are.
  HWY_INLINE void Place(Vector<double> sin, Vector<double> cos, int64_t k,
                        double* (Panel::*where)(int64_t)) {
    constexpr Tag<double> d;
    if (alternating_) {
      hn::StoreInterleaved2(sin, cos, d, (sines_.*where)(2 * k));
    } else {
      hn::Store(sin, d, (sines_.*where)(k));
      hn::Store(cos, d, (cosines_.*where)(k));
    }
  }

  void Restart(double position) {
    for (int64_t k = 0; k < pairs_; k += kAtOnce * kLanes) {
      Turns turns[kAtOnce];
      Vector<double> sin[kAtOnce], cos[kAtOnce];
      LoadTurns<kAtOnce>(table_.frequencies, k, turns);
      SinCos<kAtOnce>(position, turns, sin, cos);
      Vector<double> factors[kAtOnce];
      Factors<float, kAtOnce>(table_, k, position, factors);
      for (int v = 0; v < kAtOnce; ++v) {
        const int64_t at = k + v * kLanes;
        const Vector<double> s = hn::Mul(sin[v], factors[v]);
        const Vector<double> c = hn::Mul(cos[v], factors[v]);
        Place(s, c, at, &Panel::Now);
        const Vector<double> step_sin = hn::Load(Tag<double>(), step_sin_ + at);
        const Vector<double> step_cos = hn::Load(Tag<double>(), step_cos_ + at);
        Place(hn::MulSub(s, step_cos, hn::Mul(c, step_sin)),
              hn::MulAdd(c, step_cos, hn::Mul(s, step_sin)), at,
              &Panel::Before);
      }
    }
  }

  void Advance(int64_t i, int64_t end) {
    grows_ ? AdvanceAll<true>(i, end) : AdvanceAll<false>(i, end);
  }

  template <bool kGrows>
  HWY_INLINE void AdvanceAll(int64_t i, int64_t end) {
    sines_.AdvanceAll<kPast, kGrows>(alternating_ ? 2 * pairs_ : pairs_, i, end,
                                     table_.sin, table_.stride);
    if (alternating_ || table_.cos == nullptr) return;
    cosines_.AdvanceAll<kPast, kGrows>(pairs_, i, end, table_.cos,
                                       table_.stride);
  }

  const AngleTable<float> table_;
  const int64_t pairs_;
  const bool grows_;
  const bool alternating_;
  Panel sines_;  // or both
  Panel cosines_;
  HWY_ALIGN double step_sin_[kPairs];
  HWY_ALIGN double step_cos_[kPairs];
};

template <bool kPast>
void FillRun(const AngleTable<float>& table, int64_t start, int64_t count) {
  const auto pairs = static_cast<int64_t>(table.frequencies.size());
  const bool alternating =
      table.layout == AngleTable<float>::Layout::kAlternating;
  for (int64_t k = 0; k < pairs; k += Run<kPast>::kPairs) {
    AngleTable<float> some = table;
    some.frequencies = table.frequencies.subspan(k, Run<kPast>::kPairs);
    if (!table.growth.empty()) {
      some.growth = table.growth.subspan(k, Run<kPast>::kPairs);
    }
    some.sin += alternating ? 2 * k : k;
    if (some.cos != nullptr) some.cos += k;
    Run<kPast>(some).Fill(start, count);
  }
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace locus
HWY_AFTER_NAMESPACE();

#endif  // LOCUS_CORE_ENCODING_ANGLES_ANGLE_RUN_INL_H_
