#include "core/encoding/angles.h"

#include <algorithm>
#include <numeric>
#include <type_traits>
#include <utility>

#include "core/base/simd.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/encoding/angles.cc"
#include <hwy/foreach_target.h>  // must come before highway.h

#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include "core/base/writes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace locus {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using Tag = hn::ScalableTag<double>;
using Vector = hn::Vec<Tag>;
constexpr int kLanes = hn::MaxLanes(Tag());

// Vectors of doubles that make one of T: where vectors have more than one lane,
// two for float.
template <typename T>
constexpr int kPerVector = hn::MaxLanes(hn::ScalableTag<T>()) / kLanes;

// a b - product, exactly, where product is a b rounded.
HWY_INLINE Vector ProductError(Vector a, Vector b, Vector product) {
#if HWY_NATIVE_FMA
  return hn::MulSub(a, b, product);
#else
  // Dekker's: halves of 26 bits, whose products are exact.
  const Vector splitter = hn::Set(Tag(), 0x1p27 + 1);
  const Vector a_wide = hn::Mul(a, splitter);
  const Vector b_wide = hn::Mul(b, splitter);
  const Vector a_high = hn::Sub(a_wide, hn::Sub(a_wide, a));
  const Vector b_high = hn::Sub(b_wide, hn::Sub(b_wide, b));
  const Vector a_low = hn::Sub(a, a_high);
  const Vector b_low = hn::Sub(b, b_high);
  Vector error = hn::Sub(hn::Mul(a_high, b_high), product);
  error = hn::Add(error, hn::Mul(a_high, b_low));
  error = hn::Add(error, hn::Mul(a_low, b_high));
  return hn::Add(error, hn::Mul(a_low, b_low));
#endif
}

// A frequency in turns, to twice the precision of double.
struct Turns {
  Vector high;
  Vector low;
};

HWY_INLINE Turns TurnsOf(Vector radians) {
  constexpr Tag d;
  // 1 / (2 pi).
  const Vector high = hn::Set(d, 0x1.45f306dc9c883p-3);
  const Vector low = hn::Set(d, -0x1.6b01ec5417056p-57);
  const Vector turns = hn::Mul(radians, high);
  return {turns, hn::MulAdd(radians, low, ProductError(radians, high, turns))};
}

// Sines and cosines at kCount vectors of frequencies, each step for all of
// them: one alone would mostly wait for its own results.
template <int kCount>
HWY_INLINE void SinCos(double position, const Turns* frequencies, Vector* sin,
                       Vector* cos) {
  constexpr Tag d;
  constexpr hn::RebindToUnsigned<Tag> bits;
  const Vector p = hn::Set(d, position);
  Vector rest[kCount];
  for (int v = 0; v < kCount; ++v) {
    const Vector turns = hn::Mul(p, frequencies[v].high);
    const Vector low = hn::MulAdd(p, frequencies[v].low,
                                  ProductError(p, frequencies[v].high, turns));
    // Beyond 2^53 turns the lower half has whole turns of its own.
    rest[v] = hn::Add(hn::Sub(turns, hn::Round(turns)), low);
    rest[v] = hn::Sub(rest[v], hn::Round(rest[v]));
  }
  // The nearest quarter stands in the last bits of a number that large.
  const Vector large = hn::Set(d, 0x1.8p52);
  hn::Vec<decltype(bits)> quarter[kCount];
  Vector x[kCount], x2[kCount];
  for (int v = 0; v < kCount; ++v) {
    const Vector shifted = hn::MulAdd(rest[v], hn::Set(d, 4), large);
    quarter[v] = hn::BitCast(bits, shifted);
    rest[v] = hn::NegMulAdd(hn::Sub(shifted, large), hn::Set(d, 0.25), rest[v]);
    x[v] = hn::Mul(rest[v], hn::Set(d, 0x1.921fb54442d18p+2));
    x2[v] = hn::Mul(x[v], x[v]);
  }

  // Coefficients of fdlibm, good to 2^-57 on an eighth of a turn either way.
  constexpr double kSin[] = {
      -2.50507602534068634195e-08, 2.75573137070700676789e-06,
      -1.98412698298579493134e-04, 8.33333333332248946124e-03,
      -1.66666666666666324348e-01};
  constexpr double kCos[] = {2.08757232129817482790e-09,
                             -2.75573143513906633035e-07,
                             2.48015872894767294178e-05,
                             -1.38888888888741095749e-03,
                             4.16666666666666019037e-02,
                             -0.5,
                             1.0};
  Vector s[kCount], c[kCount];
  for (int v = 0; v < kCount; ++v) {
    s[v] = hn::Set(d, 1.58969099521155010221e-10);
    c[v] = hn::Set(d, -1.13596475577881948265e-11);
  }
  for (int i = 0; i < 7; ++i) {
    for (int v = 0; v < kCount; ++v) {
      if (i < 5) s[v] = hn::MulAdd(s[v], x2[v], hn::Set(d, kSin[i]));
      c[v] = hn::MulAdd(c[v], x2[v], hn::Set(d, kCos[i]));
    }
  }
  const auto sign = hn::Set(bits, uint64_t{1} << 63);
  for (int v = 0; v < kCount; ++v) {
    s[v] = hn::MulAdd(hn::Mul(x[v], x2[v]), s[v], x[v]);
    // One quarter on, sine and cosine change places; signs follow.
    const auto swap = hn::MaskFromVec(hn::BitCast(
        d, hn::Sub(hn::Zero(bits), hn::And(quarter[v], hn::Set(bits, 1)))));
    const auto next = hn::Add(quarter[v], hn::Set(bits, 1));
    const auto sin_sign = hn::And(hn::ShiftLeft<62>(quarter[v]), sign);
    const auto cos_sign = hn::And(hn::ShiftLeft<62>(next), sign);
    sin[v] =
        hn::Xor(hn::IfThenElse(swap, c[v], s[v]), hn::BitCast(d, sin_sign));
    cos[v] =
        hn::Xor(hn::IfThenElse(swap, s[v], c[v]), hn::BitCast(d, cos_sign));
  }
}

// A vector of floats from two of doubles; where vectors have one lane, from
// one.
#if HWY_TARGET == HWY_SCALAR
HWY_INLINE hn::Vec<hn::ScalableTag<float>> Rounded(Vector v) {
  return hn::DemoteTo(hn::Rebind<float, Tag>(), v);
}
#else
HWY_INLINE hn::Vec<hn::ScalableTag<float>> Rounded(Vector low, Vector high) {
  constexpr hn::Rebind<float, Tag> half;
  return hn::Combine(hn::ScalableTag<float>(), hn::DemoteTo(half, high),
                     hn::DemoteTo(half, low));
}
#endif

// The frequencies from one on, as many as there are, up to kVectors vectors.
template <int kVectors>
HWY_INLINE void LoadTurns(absl::Span<const double> frequencies, int64_t first,
                          Turns* turns) {
  constexpr int64_t kWidth = kVectors * kLanes;
  const auto count = static_cast<int64_t>(frequencies.size()) - first;
  const double* from = frequencies.data() + first;
  HWY_ALIGN double padded[kWidth];
  if (count < kWidth) {
    std::fill(std::copy_n(from, count, padded), padded + kWidth, 0.0);
    from = padded;
  }
  for (int v = 0; v < kVectors; ++v) {
    turns[v] = TurnsOf(hn::LoadU(Tag(), from + v * kLanes));
  }
}

// --- Each position by itself -------------------------------------------------

// The i-th vector of T from vectors of doubles.
HWY_INLINE Vector Taken(const Vector* v, int i, double) { return v[i]; }
HWY_INLINE hn::Vec<hn::ScalableTag<float>> Taken(const Vector* v, int i,
                                                 float) {
#if HWY_TARGET == HWY_SCALAR
  return Rounded(v[i]);
#else
  return Rounded(v[2 * i], v[2 * i + 1]);
#endif
}

template <typename T, int kVectors, bool kPast>
HWY_INLINE void PutAll(const Vector* v, T* to) {
  constexpr hn::ScalableTag<T> d;
  for (int i = 0; i < kVectors / kPerVector<T>; ++i) {
    Put<kPast>(d, Taken(v, i, T()), to + i * hn::MaxLanes(d));
  }
}

template <typename T, int kVectors, bool kPast>
HWY_INLINE void PutAllAlternating(const Vector* a, const Vector* b, T* to) {
  constexpr hn::ScalableTag<T> d;
  for (int i = 0; i < kVectors / kPerVector<T>; ++i) {
    PutAlternating<kPast>(d, Taken(a, i, T()), Taken(b, i, T()),
                          to + 2 * i * hn::MaxLanes(d));
  }
}

// Some columns of a table: kVectors vectors of frequencies from the one at
// `first` on, or fewer numbers than that if `width` says so.
template <typename T, int kVectors, bool kPast>
struct Columns {
  static constexpr int kWidth = kVectors * kLanes;

  const AngleTable<T>& table;
  int64_t first;
  int64_t width;

  void Fill(const int64_t* positions, int64_t count) const {
    Turns turns[kVectors];
    LoadTurns<kVectors>(table.frequencies, first, turns);
    const Vector factor = hn::Set(Tag(), table.factor);
    for (int64_t i = 0; i < count; ++i) {
      Vector sin[kVectors], cos[kVectors];
      SinCos<kVectors>(static_cast<double>(positions[i]), turns, sin, cos);
      for (int v = 0; v < kVectors; ++v) {
        sin[v] = hn::Mul(sin[v], factor);
        cos[v] = hn::Mul(cos[v], factor);
      }
      PutRow(i, sin, cos);
    }
  }

  HWY_INLINE void PutRow(int64_t row, const Vector* sin,
                         const Vector* cos) const {
    const bool alternating =
        table.layout == AngleTable<T>::Layout::kAlternating;
    T* const sin_to =
        table.sin + row * table.stride + (alternating ? 2 : 1) * first;
    T* const cos_to =
        table.cos == nullptr ? nullptr : table.cos + row * table.stride + first;
    if (width == kWidth) {
      if (alternating) {
        return PutAllAlternating<T, kVectors, kPast>(sin, cos, sin_to);
      }
      PutAll<T, kVectors, kPast>(sin, sin_to);
      if (cos_to != nullptr) PutAll<T, kVectors, kPast>(cos, cos_to);
      return;
    }
    HWY_ALIGN T some[2 * kWidth];
    if (alternating) {
      PutAllAlternating<T, kVectors, false>(sin, cos, some);
      std::copy_n(some, 2 * width, sin_to);
      return;
    }
    PutAll<T, kVectors, false>(sin, some);
    std::copy_n(some, width, sin_to);
    PutAll<T, kVectors, false>(cos, some);
    if (cos_to != nullptr) std::copy_n(some, width, cos_to);
  }
};

template <typename T, bool kPast>
void Each(const AngleTable<T>& table, const int64_t* positions, int64_t count) {
  const auto pairs = static_cast<int64_t>(table.frequencies.size());
  constexpr int kVectors = 2;
  constexpr int64_t kWidth = kVectors * kLanes;
  for (int64_t k = 0; k < pairs; k += kWidth) {
    Columns<T, kVectors, kPast>{table, k, std::min(kWidth, pairs - k)}.Fill(
        positions, count);
  }
}

// --- Runs of positions -------------------------------------------------------
//
// In a run, what stands in a column follows from the two numbers above it:
//
//   f((n + 1) w) = 2 cos(w) f(n w) - f((n - 1) w),  f = sin or cos
//
// Rounding grows with the square of the steps, to 2^-42 after 64.

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

  Vector a, b, c, d;

  static HWY_INLINE Group Load(const double* from) {
    constexpr Tag tag;
    return {hn::Load(tag, from), hn::Load(tag, from + kLanes),
            hn::Load(tag, from + kPageNumbers),
            hn::Load(tag, from + kPageNumbers + kLanes)};
  }
  HWY_INLINE void Store(double* to) const {
    constexpr Tag tag;
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

  // A group of columns from the position of row i to that of row `end`; rows
  // passed, but for those before row 0, are written to `to` and after it.
  template <bool kPast>
  HWY_NOINLINE void Advance(int64_t column, int64_t i, int64_t end, float* to,
                            int64_t stride) {
    double* const now = Now(column);
    double* const before = Before(column);
    Group x = Group::Load(now);
    Group y = Group::Load(before);
    const Group twice = Group::Load(TwiceCos(column));
    for (; i < std::min<int64_t>(end, 0); ++i) {
      y = x.Next(y, twice);
      std::swap(x, y);
    }
    for (; i + 1 < end; i += 2, to += 2 * stride) {
      x.Write<kPast>(to);
      y = x.Next(y, twice);
      y.Write<kPast>(to + stride);
      x = y.Next(x, twice);
    }
    if (i < end) {
      x.Write<kPast>(to);
      y = x.Next(y, twice);
      std::swap(x, y);
    }
    x.Store(now);
    y.Store(before);
  }

  // The same for `count` columns, however many they are.
  template <bool kPast>
  HWY_INLINE void AdvanceAll(int64_t count, int64_t i, int64_t end, float* to,
                             int64_t stride) {
    const int64_t first = std::max<int64_t>(i, 0);
    int64_t c = 0;
    for (; c + Group::kWidth <= count; c += Group::kWidth) {
      Advance<kPast>(c, i, end, to + first * stride + c, stride);
    }
    if (c == count) return;
    HWY_ALIGN float some[kPanelRows * Group::kWidth];
    Advance<false>(c, i, end, some, Group::kWidth);
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
  alignas(kPageBytes) double pages_[6 * Group::kPageNumbers];
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
        alternating_(table.layout == AngleTable<float>::Layout::kAlternating),
        sines_(table.sin, StrideBytes(table)),
        cosines_(table.cos, StrideBytes(table)) {
    for (int64_t k = 0; k < pairs_; k += kAtOnce * kLanes) {
      Turns turns[kAtOnce];
      Vector sin[kAtOnce], cos[kAtOnce];
      LoadTurns<kAtOnce>(table.frequencies, k, turns);
      SinCos<kAtOnce>(1, turns, sin, cos);
      for (int v = 0; v < kAtOnce; ++v) {
        const int64_t at = k + v * kLanes;
        hn::Store(sin[v], Tag(), step_sin_ + at);
        hn::Store(cos[v], Tag(), step_cos_ + at);
        const Vector twice = hn::Add(cos[v], cos[v]);
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
  HWY_INLINE void Place(Vector sin, Vector cos, int64_t k,
                        double* (Panel::*where)(int64_t)) {
    constexpr Tag d;
    if (alternating_) {
      hn::StoreInterleaved2(sin, cos, d, (sines_.*where)(2 * k));
    } else {
      hn::Store(sin, d, (sines_.*where)(k));
      hn::Store(cos, d, (cosines_.*where)(k));
    }
  }

  void Restart(double position) {
    const Vector factor = hn::Set(Tag(), table_.factor);
    for (int64_t k = 0; k < pairs_; k += kAtOnce * kLanes) {
      Turns turns[kAtOnce];
      Vector sin[kAtOnce], cos[kAtOnce];
      LoadTurns<kAtOnce>(table_.frequencies, k, turns);
      SinCos<kAtOnce>(position, turns, sin, cos);
      for (int v = 0; v < kAtOnce; ++v) {
        const int64_t at = k + v * kLanes;
        const Vector s = hn::Mul(sin[v], factor);
        const Vector c = hn::Mul(cos[v], factor);
        Place(s, c, at, &Panel::Now);
        const Vector step_sin = hn::Load(Tag(), step_sin_ + at);
        const Vector step_cos = hn::Load(Tag(), step_cos_ + at);
        Place(hn::MulSub(s, step_cos, hn::Mul(c, step_sin)),
              hn::MulAdd(c, step_cos, hn::Mul(s, step_sin)), at,
              &Panel::Before);
      }
    }
  }

  void Advance(int64_t i, int64_t end) {
    sines_.AdvanceAll<kPast>(alternating_ ? 2 * pairs_ : pairs_, i, end,
                             table_.sin, table_.stride);
    if (alternating_ || table_.cos == nullptr) return;
    cosines_.AdvanceAll<kPast>(pairs_, i, end, table_.cos, table_.stride);
  }

  const AngleTable<float> table_;
  const int64_t pairs_;
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
    some.sin += alternating ? 2 * k : k;
    if (some.cos != nullptr) some.cos += k;
    Run<kPast>(some).Fill(start, count);
  }
}

// Calls body(whether to write past the cache).
template <typename T, typename Body>
HWY_INLINE void Written(const AngleTable<T>& table, const Body& body) {
  const int64_t stride = table.stride * static_cast<int64_t>(sizeof(T));
  if (table.writes == Writes::kPastCache && IsAligned(table.sin, stride) &&
      IsAligned(table.cos, stride)) {
    body(std::true_type());
    hwy::FlushStream();
  } else {
    body(std::false_type());
  }
}

template <typename T>
void EachImpl(const AngleTable<T>& table, const int64_t* positions,
              int64_t count) {
  Written(table, [&](auto past) {
    Each<T, decltype(past)::value>(table, positions, count);
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
  Written(table, [&](auto past) {
    FillRun<decltype(past)::value>(table, start, count);
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

}  // namespace

template <typename T>
void FillAngles(const AngleTable<T>& table, const Positions& positions,
                int64_t first, int64_t count) {
  if (count <= 0) return;
  if constexpr (sizeof(T) == sizeof(float)) {
    if (positions.is_range()) {
      HWY_DYNAMIC_DISPATCH(RunF32)(table, positions[first], count);
      return;
    }
  }
  AngleTable<T> rest = table;
  for (int64_t i = 0; i < count; i += kFreshPositions) {
    const int64_t rows = std::min(kFreshPositions, count - i);
    int64_t some[kFreshPositions];
    for (int64_t r = 0; r < rows; ++r) some[r] = positions[first + i + r];
    Each(rest, some, rows);
    rest.sin += rows * rest.stride;
    if (rest.cos != nullptr) rest.cos += rows * rest.stride;
  }
}

template <typename T>
void FillAngles(const AngleTable<T>& table, int64_t position) {
  if constexpr (sizeof(T) == sizeof(float)) {
    HWY_DYNAMIC_DISPATCH(RunF32)(table, position, 1);
  } else {
    Each(table, &position, 1);
  }
}

template void FillAngles(const AngleTable<float>&, const Positions&, int64_t,
                         int64_t);
template void FillAngles(const AngleTable<double>&, const Positions&, int64_t,
                         int64_t);
template void FillAngles(const AngleTable<float>&, int64_t);
template void FillAngles(const AngleTable<double>&, int64_t);

}  // namespace locus
#endif  // HWY_ONCE
