#include "core/simd/half_convert.h"

#include <cstring>

#include "core/simd/simd.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/simd/half_convert.cc"
#include <hwy/foreach_target.h>  // must come before highway.h

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace locus {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

constexpr hn::ScalableTag<float> kFloats;
constexpr hn::RebindToUnsigned<hn::ScalableTag<float>> kBits;
constexpr hn::Rebind<uint16_t, hn::ScalableTag<float>> kShorts;
using Floats = hn::Vec<hn::ScalableTag<float>>;
using Bits = hn::Vec<decltype(kBits)>;
using Shorts = hn::Vec<decltype(kShorts)>;
constexpr int64_t kLanes = hn::MaxLanes(kFloats);

// Narrows each lane to its lower 16 bits; the upper 16 bits must be zero.
HWY_INLINE Shorts Lower(Bits bits) {
  return hn::DemoteTo(kShorts,
                      hn::BitCast(hn::RebindToSigned<decltype(kBits)>(), bits));
}

// IEEE 754 binary16: 5 bits of exponent, 10 of mantissa.
struct Half {
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3
  static constexpr hn::Rebind<hwy::float16_t, hn::ScalableTag<float>> kHalves{};
  static HWY_INLINE Floats Widen(Shorts half) {
    return hn::PromoteTo(kFloats, hn::BitCast(kHalves, half));
  }
  static HWY_INLINE Shorts Narrow(Floats value) {
    return hn::BitCast(kShorts, hn::DemoteTo(kHalves, value));
  }
#else
  static HWY_INLINE Floats Widen(Shorts half) {
    const Bits all = hn::PromoteTo(kBits, half);
    const Bits magnitude =
        hn::ShiftLeft<13>(hn::And(all, hn::Set(kBits, 0x7fff)));
    const Bits sign = hn::ShiftLeft<16>(hn::And(all, hn::Set(kBits, 0x8000)));
    // The exponent bias is 112 larger in float. Infinity and NaN need another
    // 112 to reach float's maximum exponent.
    const Bits bias = hn::Set(kBits, 112u << 23);
    const Bits biased = hn::Add(magnitude, bias);
    const auto is_special =
        hn::Ge(hn::BitCast(kFloats, magnitude),
               hn::BitCast(kFloats, hn::Set(kBits, 31u << 23)));
    // Subnormals have no implicit leading one: subtract the one that adding
    // the bias introduced.
    const Bits one_more = hn::Add(biased, hn::Set(kBits, 1u << 23));
    const Floats subnormal =
        hn::Sub(hn::BitCast(kFloats, one_more),
                hn::BitCast(kFloats, hn::Set(kBits, 113u << 23)));
    const auto is_subnormal =
        hn::Lt(hn::BitCast(kFloats, biased),
               hn::BitCast(kFloats, hn::Set(kBits, 113u << 23)));
    Floats result =
        hn::IfThenElse(is_subnormal, subnormal, hn::BitCast(kFloats, biased));
    result = hn::IfThenElse(
        is_special, hn::BitCast(kFloats, hn::Add(biased, bias)), result);
    return hn::BitCast(kFloats, hn::Or(hn::BitCast(kBits, result), sign));
  }
  static HWY_INLINE Shorts Narrow(Floats value) {
    const Floats magnitude = hn::Abs(value);
    const Bits bits = hn::BitCast(kBits, magnitude);
    const Bits sign =
        hn::ShiftRight<16>(hn::AndNot(bits, hn::BitCast(kBits, value)));
    // Round to nearest even: add half a unit in the last place, minus one if
    // the last bit is even. Then adjust the exponent bias.
    const Bits odd = hn::And(hn::ShiftRight<13>(bits), hn::Set(kBits, 1));
    const Bits rounded = hn::Add(bits, hn::Add(odd, hn::Set(kBits, 0xfff)));
    Bits result =
        hn::ShiftRight<13>(hn::Sub(rounded, hn::Set(kBits, 112u << 23)));
    // Below 2^-14 all halves are multiples of 2^-24, which is the spacing of
    // floats in [1/2, 1): adding 1/2 rounds to it.
    const Bits fixed =
        hn::Sub(hn::BitCast(kBits, hn::Add(magnitude, hn::Set(kFloats, 0.5f))),
                hn::Set(kBits, 126u << 23));
    const auto is_subnormal = hn::Lt(magnitude, hn::Set(kFloats, 0x1p-14f));
    result = Choose(is_subnormal, fixed, result);
    const auto is_large = hn::Ge(magnitude, hn::Set(kFloats, 0x1p16f));
    result = Choose(is_large, hn::Set(kBits, 0x7c00), result);
    const auto is_number = hn::Eq(value, value);
    result = Choose(is_number, result, hn::Set(kBits, 0x7e00));
    return Lower(hn::Or(result, sign));
  }
  template <typename Mask>
  static HWY_INLINE Bits Choose(Mask mask, Bits yes, Bits no) {
    return hn::BitCast(kBits, hn::IfThenElse(mask, hn::BitCast(kFloats, yes),
                                             hn::BitCast(kFloats, no)));
  }
#endif
};

// bfloat16: the upper 16 bits of a float.
struct BFloat {
  static HWY_INLINE Floats Widen(Shorts value) {
    return hn::BitCast(kFloats, hn::ShiftLeft<16>(hn::PromoteTo(kBits, value)));
  }
  static HWY_INLINE Shorts Narrow(Floats value) {
    const Bits bits = hn::BitCast(kBits, value);
    const Bits odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(kBits, 1));
    const Bits rounded = hn::Add(bits, hn::Add(odd, hn::Set(kBits, 0x7fff)));
    // The mantissa of a NaN may be zero in its upper 16 bits: set the quiet
    // bit so that it stays a NaN.
    const Bits quiet = hn::Or(bits, hn::Set(kBits, 0x400000));
    const Floats result =
        hn::IfThenElse(hn::Eq(value, value), hn::BitCast(kFloats, rounded),
                       hn::BitCast(kFloats, quiet));
    return Lower(hn::ShiftRight<16>(hn::BitCast(kBits, result)));
  }
};

// Converts `count` elements. The 16-bit data may have any alignment because it
// points into messages. The last partial vector goes through a padded buffer.
template <typename Format>
void Widen(const void* source, int64_t count, float* target) {
  const char* bytes = static_cast<const char*>(source);
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    HWY_ALIGN uint16_t buffer[kLanes];
    std::memcpy(buffer, bytes + 2 * i, sizeof(buffer));
    hn::StoreU(Format::Widen(hn::Load(kShorts, buffer)), kFloats, target + i);
  }
  if (i >= count) return;
  HWY_ALIGN uint16_t buffer[kLanes] = {};
  HWY_ALIGN float wide[kLanes];
  std::memcpy(buffer, bytes + 2 * i, 2 * (count - i));
  hn::Store(Format::Widen(hn::Load(kShorts, buffer)), kFloats, wide);
  std::memcpy(target + i, wide, (count - i) * sizeof(float));
}

template <typename Format>
void Narrow(const float* source, int64_t count, void* target) {
  char* bytes = static_cast<char*>(target);
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    HWY_ALIGN uint16_t buffer[kLanes];
    hn::Store(Format::Narrow(hn::LoadU(kFloats, source + i)), kShorts, buffer);
    std::memcpy(bytes + 2 * i, buffer, sizeof(buffer));
  }
  if (i >= count) return;
  HWY_ALIGN float wide[kLanes] = {};
  HWY_ALIGN uint16_t buffer[kLanes];
  std::memcpy(wide, source + i, (count - i) * sizeof(float));
  hn::Store(Format::Narrow(hn::Load(kFloats, wide)), kShorts, buffer);
  std::memcpy(bytes + 2 * i, buffer, 2 * (count - i));
}

}  // namespace

void WidenHalfImpl(const void* source, int64_t count, float* target) {
  Widen<Half>(source, count, target);
}
void WidenBFloatImpl(const void* source, int64_t count, float* target) {
  Widen<BFloat>(source, count, target);
}
void NarrowToHalfImpl(const float* source, int64_t count, void* target) {
  Narrow<Half>(source, count, target);
}
void NarrowToBFloatImpl(const float* source, int64_t count, void* target) {
  Narrow<BFloat>(source, count, target);
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace locus
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace locus {

HWY_EXPORT(WidenHalfImpl);
HWY_EXPORT(WidenBFloatImpl);
HWY_EXPORT(NarrowToHalfImpl);
HWY_EXPORT(NarrowToBFloatImpl);

void WidenHalf(const void* source, int64_t count, float* target) {
  HWY_DYNAMIC_DISPATCH(WidenHalfImpl)(source, count, target);
}
void WidenBFloat(const void* source, int64_t count, float* target) {
  HWY_DYNAMIC_DISPATCH(WidenBFloatImpl)(source, count, target);
}
void NarrowToHalf(const float* source, int64_t count, void* target) {
  HWY_DYNAMIC_DISPATCH(NarrowToHalfImpl)(source, count, target);
}
void NarrowToBFloat(const float* source, int64_t count, void* target) {
  HWY_DYNAMIC_DISPATCH(NarrowToBFloatImpl)(source, count, target);
}

}  // namespace locus
#endif  // HWY_ONCE
