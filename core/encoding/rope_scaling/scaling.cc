#include "core/encoding/rope_scaling/scaling.h"

// One line per scaling. X(Yarn) stands for DescribeYarn() in yarn.cc.
#define LOCUS_ROPE_SCALINGS(X) \
  X(Linear)                    \
  X(Ntk)                       \
  X(DynamicNtk)                \
  X(Yarn)                      \
  X(Llama3)                    \
  X(LongRope)                  \
  X(Proportional)

namespace locus {

#define LOCUS_DECLARE(scaling) RopeScalingInfo Describe##scaling();
LOCUS_ROPE_SCALINGS(LOCUS_DECLARE)
#undef LOCUS_DECLARE

absl::Span<const RopeScalingInfo> AllRopeScalings() {
#define LOCUS_DESCRIBE(scaling) Describe##scaling(),
  static const auto* const scalings =
      new std::vector<RopeScalingInfo>{LOCUS_ROPE_SCALINGS(LOCUS_DESCRIBE)};
#undef LOCUS_DESCRIBE
  return *scalings;
}

template <>
double PairFrequency(const RopeShape& shape, int64_t k, double stretch) {
  const double exponent =
      -2.0 * static_cast<double>(k) / static_cast<double>(shape.rotary_dim);
  return std::pow(shape.base, exponent) / stretch;
}

// Frameworks compute the power base^(2k / r) first, then its inverse. The power
// is rounded from double, so that the result does not depend on the
// single-precision functions of the local libm.
template <>
float PairFrequency(const RopeShape& shape, int64_t k, float stretch) {
  const float exponent =
      static_cast<float>(2 * k) / static_cast<float>(shape.rotary_dim);
  const auto power = static_cast<float>(
      std::pow(static_cast<double>(static_cast<float>(shape.base)),
               static_cast<double>(exponent)));
  return 1 / (stretch * power);
}

std::vector<double> PairFrequencies(const RopeShape& shape) {
  return EachPair(shape, [&](int64_t k, auto type) {
    return PairFrequency<decltype(type)>(shape, k);
  });
}

Parameter ScalingFactor(double default_factor) {
  return {.kind = ParameterKind::kNumber,
          .name = "factor",
          .description = "ratio of the extended length to the original length",
          .default_number = default_factor,
          .min = 1e-6,
          .max = 1e6};
}

Parameter OriginalLength(double default_length) {
  return {.kind = ParameterKind::kInteger,
          .name = "original_length",
          .description = "length that the model was trained for",
          .default_number = default_length,
          .min = 2,
          .max = 0x1p53};
}

Parameter GivenAttentionFactor() {
  return {.kind = ParameterKind::kNumber,
          .name = "attention_factor",
          .description = "factor of cosines and sines; unset: the formula's",
          .min = 1e-6,
          .max = 1e6};
}

}  // namespace locus
