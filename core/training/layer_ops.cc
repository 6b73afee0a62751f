#include "core/training/layer_ops.h"

#include <cmath>

#include "core/simd/simd.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/training/layer_ops.cc"
#include <hwy/foreach_target.h>  // must come before highway.h

#include <hwy/highway.h>

#include "core/simd/exp2-inl.h"
#include "core/simd/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace locus {
namespace HWY_NAMESPACE {
namespace {

// Returns v with all lanes from `left` on set to zero.
template <typename T>
HWY_INLINE Vector<T> ZeroTail(Vector<T> v, int64_t left) {
  if (left >= Lanes<T>()) return v;
  return hn::IfThenElseZero(hn::FirstN(Tag<T>(), static_cast<size_t>(left)), v);
}

// Loads the first `left` elements at `from`; other lanes are zero. Reads a
// whole vector.
template <typename T>
HWY_INLINE Vector<T> Load(const T* from, int64_t left) {
  return ZeroTail<T>(hn::LoadU(Tag<T>(), from), left);
}

// Stores the first `left` lanes, and no more.
template <typename T>
HWY_INLINE void Store(Vector<T> v, T* to, int64_t left) {
  if (left >= Lanes<T>()) return hn::StoreU(v, Tag<T>(), to);
  HWY_ALIGN T lanes[Lanes<T>()];
  hn::Store(v, Tag<T>(), lanes);
  for (int64_t i = 0; i < left; ++i) to[i] = lanes[i];
}

template <typename T>
HWY_INLINE T Sum(Vector<T> v) {
  return hn::GetLane(hn::SumOfLanes(Tag<T>(), v));
}

template <typename T>
void LayerNorm(MatrixView<const T> x, const T* gain, const T* shift,
               MatrixView<T> out, T* statistics) {
  constexpr Tag<T> d;
  const T inverse_count = T(1) / static_cast<T>(x.columns);
  for (int64_t i = 0; i < x.rows; ++i) {
    const T* const from = x.row(i);
    auto total = hn::Zero(d);
    for (int64_t c = 0; c < x.columns; c += Lanes<T>()) {
      total = hn::Add(total, Load<T>(from + c, x.columns - c));
    }
    const T mean = Sum<T>(total) * inverse_count;
    const auto m = hn::Set(d, mean);
    auto squares = hn::Zero(d);
    for (int64_t c = 0; c < x.columns; c += Lanes<T>()) {
      const auto centered =
          ZeroTail<T>(hn::Sub(hn::LoadU(d, from + c), m), x.columns - c);
      squares = hn::MulAdd(centered, centered, squares);
    }
    const T inverse_deviation =
        T(1) / std::sqrt(Sum<T>(squares) * inverse_count + T(1e-5));
    const auto s = hn::Set(d, inverse_deviation);
    T* const to = out.row(i);
    for (int64_t c = 0; c < x.columns; c += Lanes<T>()) {
      const auto normalized = hn::Mul(hn::Sub(hn::LoadU(d, from + c), m), s);
      Store<T>(hn::MulAdd(normalized, hn::LoadU(d, gain + c),
                          hn::LoadU(d, shift + c)),
               to + c, x.columns - c);
    }
    statistics[2 * i] = mean;
    statistics[2 * i + 1] = inverse_deviation;
  }
}

template <typename T>
void LayerNormBackward(MatrixView<const T> d_out, MatrixView<const T> x,
                       const T* statistics, const T* gain, MatrixView<T> d_x,
                       T* d_gain, T* d_shift) {
  constexpr Tag<T> d;
  const T inverse_count = T(1) / static_cast<T>(x.columns);
  for (int64_t i = 0; i < x.rows; ++i) {
    const T* const from = x.row(i);
    const T* const grad = d_out.row(i);
    const auto m = hn::Set(d, statistics[2 * i]);
    const auto s = hn::Set(d, statistics[2 * i + 1]);
    auto sum_g = hn::Zero(d);
    auto sum_gx = hn::Zero(d);
    for (int64_t c = 0; c < x.columns; c += Lanes<T>()) {
      const int64_t left = x.columns - c;
      const auto normalized = hn::Mul(hn::Sub(hn::LoadU(d, from + c), m), s);
      const auto d_out_lanes = Load<T>(grad + c, left);
      Store<T>(hn::MulAdd(d_out_lanes, normalized, hn::LoadU(d, d_gain + c)),
               d_gain + c, left);
      Store<T>(hn::Add(d_out_lanes, hn::LoadU(d, d_shift + c)), d_shift + c,
               left);
      const auto g =
          ZeroTail<T>(hn::Mul(d_out_lanes, hn::LoadU(d, gain + c)), left);
      sum_g = hn::Add(sum_g, g);
      sum_gx = hn::Add(sum_gx, ZeroTail<T>(hn::Mul(g, normalized), left));
    }
    const auto mean_g = hn::Set(d, Sum<T>(sum_g) * inverse_count);
    const auto mean_gx = hn::Set(d, Sum<T>(sum_gx) * inverse_count);
    T* const to = d_x.row(i);
    for (int64_t c = 0; c < x.columns; c += Lanes<T>()) {
      const auto normalized = hn::Mul(hn::Sub(hn::LoadU(d, from + c), m), s);
      const auto g = hn::Mul(hn::LoadU(d, grad + c), hn::LoadU(d, gain + c));
      const auto inner = hn::NegMulAdd(normalized, mean_gx, hn::Sub(g, mean_g));
      Store<T>(hn::MulAdd(inner, s, hn::LoadU(d, to + c)), to + c,
               x.columns - c);
    }
  }
}

constexpr double kLog2E = 1.4426950408889634074;

// tanh(x) = 1 - 2 / (e^(2 x) + 1). Beyond the clamp, the result rounds to one.
template <typename T>
HWY_INLINE Vector<T> Tanh(Vector<T> x) {
  constexpr Tag<T> d;
  const auto limit = hn::Set(d, T(20));
  const auto clamped = hn::Max(hn::Min(x, limit), hn::Neg(limit));
  const auto e = Exp2Bounded<T>(hn::Mul(clamped, hn::Set(d, T(2 * kLog2E))));
  return hn::Sub(hn::Set(d, T(1)),
                 hn::Div(hn::Set(d, T(2)), hn::Add(e, hn::Set(d, T(1)))));
}

constexpr double kGeluScale = 0.79788456080286535588;  // sqrt(2 / pi)
constexpr double kGeluCube = 0.044715;

// tanh(sqrt(2 / pi) (x + 0.044715 x^3))
template <typename T>
HWY_INLINE Vector<T> GeluTanh(Vector<T> x) {
  constexpr Tag<T> d;
  const auto inner =
      hn::MulAdd(hn::Mul(x, x), hn::Set(d, T(kGeluScale * kGeluCube)),
                 hn::Set(d, T(kGeluScale)));
  return Tanh<T>(hn::Mul(x, inner));
}

template <typename T>
void Gelu(MatrixView<T> x, MatrixView<T> out) {
  constexpr Tag<T> d;
  const auto half = hn::Set(d, T(0.5));
  const auto one = hn::Set(d, T(1));
  for (int64_t i = 0; i < x.rows; ++i) {
    T* const row = x.row(i);
    for (int64_t c = 0; c < x.columns; c += Lanes<T>()) {
      const int64_t left = x.columns - c;
      const auto v = hn::LoadU(d, row + c);
      const auto t = GeluTanh<T>(v);
      const auto half_v = hn::Mul(half, v);
      Store<T>(hn::MulAdd(half_v, t, half_v), out.row(i) + c, left);
      // d tanh = (1 - t^2) sqrt(2 / pi) (1 + 3 * 0.044715 x^2)
      const auto slope = hn::Mul(
          hn::NegMulAdd(t, t, one),
          hn::MulAdd(hn::Mul(v, v), hn::Set(d, T(3 * kGeluScale * kGeluCube)),
                     hn::Set(d, T(kGeluScale))));
      Store<T>(hn::Mul(half, hn::MulAdd(v, slope, hn::Add(one, t))), row + c,
               left);
    }
  }
}

template <typename T>
void Multiply(MatrixView<const T> from, MatrixView<T> to) {
  constexpr Tag<T> d;
  for (int64_t i = 0; i < to.rows; ++i) {
    T* const row = to.row(i);
    for (int64_t c = 0; c < to.columns; c += Lanes<T>()) {
      Store<T>(hn::Mul(hn::LoadU(d, from.row(i) + c), hn::LoadU(d, row + c)),
               row + c, to.columns - c);
    }
  }
}

template <typename T>
void Softmax(T* row, const T* bias, int64_t count) {
  constexpr Tag<T> d;
  const auto lowest = hn::Set(d, hwy::LowestValue<T>());
  auto largest = lowest;
  for (int64_t c = 0; c < count; c += Lanes<T>()) {
    auto v = hn::LoadU(d, row + c);
    if (bias != nullptr) v = hn::Add(v, hn::LoadU(d, bias + c));
    if (count - c < Lanes<T>()) {
      v = hn::IfThenElse(hn::FirstN(d, static_cast<size_t>(count - c)), v,
                         lowest);
    }
    largest = hn::Max(largest, v);
    if (bias != nullptr) Store<T>(v, row + c, count - c);
  }
  const auto max = hn::MaxOfLanes(d, largest);
  auto total = hn::Zero(d);
  for (int64_t c = 0; c < count; c += Lanes<T>()) {
    const auto below = hn::Sub(hn::LoadU(d, row + c), max);
    const auto e =
        ZeroTail<T>(Exp2Bounded<T>(hn::Mul(hn::Min(below, hn::Zero(d)),
                                           hn::Set(d, T(kLog2E)))),
                    count - c);
    total = hn::Add(total, e);
    Store<T>(e, row + c, count - c);
  }
  const auto factor = hn::Set(d, T(1) / Sum<T>(total));
  for (int64_t c = 0; c < count; c += Lanes<T>()) {
    Store<T>(hn::Mul(hn::LoadU(d, row + c), factor), row + c, count - c);
  }
}

template <typename T>
void SoftmaxBackward(const T* p, T* g, int64_t count) {
  constexpr Tag<T> d;
  auto total = hn::Zero(d);
  for (int64_t c = 0; c < count; c += Lanes<T>()) {
    total = hn::Add(
        total, ZeroTail<T>(hn::Mul(hn::LoadU(d, p + c), hn::LoadU(d, g + c)),
                           count - c));
  }
  const auto mean = hn::SumOfLanes(d, total);
  for (int64_t c = 0; c < count; c += Lanes<T>()) {
    const auto v =
        hn::Mul(hn::LoadU(d, p + c), hn::Sub(hn::LoadU(d, g + c), mean));
    Store<T>(v, g + c, count - c);
  }
}

template <typename T>
void Add(const T* from, T* to, int64_t count) {
  constexpr Tag<T> d;
  for (int64_t c = 0; c < count; c += Lanes<T>()) {
    Store<T>(hn::Add(hn::LoadU(d, to + c), hn::LoadU(d, from + c)), to + c,
             count - c);
  }
}

template <typename T>
void Scale(T factor, T* row, int64_t count) {
  constexpr Tag<T> d;
  const auto f = hn::Set(d, factor);
  for (int64_t c = 0; c < count; c += Lanes<T>()) {
    Store<T>(hn::Mul(hn::LoadU(d, row + c), f), row + c, count - c);
  }
}

template <typename T>
double SumOfSquares(const T* row, int64_t count) {
  auto total = hn::Zero(Tag<T>());
  for (int64_t c = 0; c < count; c += Lanes<T>()) {
    const auto v = Load<T>(row + c, count - c);
    total = hn::MulAdd(v, v, total);
  }
  return static_cast<double>(Sum<T>(total));
}

template <typename T>
void AdamW(const AdamWStep<T>& step, const T* gradient, T* moment1, T* moment2,
           T* parameters, int64_t count) {
  constexpr Tag<T> d;
  constexpr T kBeta1 = T(kAdamBeta1);
  constexpr T kBeta2 = T(kAdamBeta2);
  for (int64_t c = 0; c < count; c += Lanes<T>()) {
    const int64_t left = count - c;
    const auto g =
        hn::Mul(hn::LoadU(d, gradient + c), hn::Set(d, step.clip_factor));
    const auto m = hn::MulAdd(hn::Set(d, kBeta1), hn::LoadU(d, moment1 + c),
                              hn::Mul(hn::Set(d, T(1) - kBeta1), g));
    const auto v =
        hn::MulAdd(hn::Set(d, kBeta2), hn::LoadU(d, moment2 + c),
                   hn::Mul(hn::Set(d, T(1) - kBeta2), hn::Mul(g, g)));
    const auto direction =
        hn::Div(hn::Mul(m, hn::Set(d, step.bias_correction1)),
                hn::Add(hn::Sqrt(hn::Mul(v, hn::Set(d, step.bias_correction2))),
                        hn::Set(d, T(1e-8))));
    const auto w = hn::LoadU(d, parameters + c);
    const auto decayed = hn::NegMulAdd(hn::Set(d, step.weight_decay), w, w);
    Store<T>(m, moment1 + c, left);
    Store<T>(v, moment2 + c, left);
    Store<T>(hn::NegMulAdd(hn::Set(d, step.learning_rate), direction, decayed),
             parameters + c, left);
  }
}

template <typename T>
LayerOps<T> MakeLayerOps() {
  return {.LayerNorm = LayerNorm<T>,
          .LayerNormBackward = LayerNormBackward<T>,
          .Gelu = Gelu<T>,
          .Softmax = Softmax<T>,
          .SoftmaxBackward = SoftmaxBackward<T>,
          .Multiply = Multiply<T>,
          .Add = Add<T>,
          .Scale = Scale<T>,
          .SumOfSquares = SumOfSquares<T>,
          .AdamW = AdamW<T>};
}

}  // namespace

LayerOps<float> MakeLayerOpsF32() { return MakeLayerOps<float>(); }
LayerOps<double> MakeLayerOpsF64() { return MakeLayerOps<double>(); }

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace locus
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace locus {

HWY_EXPORT(MakeLayerOpsF32);
HWY_EXPORT(MakeLayerOpsF64);

template <>
const LayerOps<float>& GetLayerOps() {
  static const LayerOps<float> ops = HWY_DYNAMIC_DISPATCH(MakeLayerOpsF32)();
  return ops;
}
template <>
const LayerOps<double>& GetLayerOps() {
  static const LayerOps<double> ops = HWY_DYNAMIC_DISPATCH(MakeLayerOpsF64)();
  return ops;
}

}  // namespace locus
#endif  // HWY_ONCE
