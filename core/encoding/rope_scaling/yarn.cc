// YaRN.
//
//   dim(n)  = r ln(L0 / (2 pi n)) / (2 ln base)
//   low     = max(floor(dim(beta_fast)), 0)
//   high    = min(ceil(dim(beta_slow)), r - 1)
//   ramp_k  = clamp((k - low) / (high - low), 0, 1)
//   w'_k    = ramp_k w_k / factor + (1 - ramp_k) w_k
//
// Peng et al., 2023, "YaRN", section 3.2, with the rounding of its published
// code, which `truncate: false` disables. dim(n) is the pair that makes n full
// rotations within the original length L0. Pairs faster than dim(beta_fast) are
// kept and pairs slower than dim(beta_slow) are interpolated. Cosines and sines
// are multiplied by
//
//   g(factor, mscale) / g(factor, mscale_all_dim), or else g(factor, 1),
//   g(s, m) = 1 + 0.1 m ln s for s > 1, else 1.
#include <algorithm>
#include <numbers>
#include <type_traits>

#include "absl/strings/str_cat.h"
#include "core/base/status.h"
#include "core/encoding/rope_scaling/scaling.h"

namespace locus {
namespace {

struct Settings {
  double factor;
  double original_length;
  double beta_fast;
  double beta_slow;
  bool truncate;
};

double Temperature(double factor, double mscale) {
  return factor <= 1 ? 1 : 0.1 * mscale * std::log(factor) + 1;
}

class Yarn final : public RopeScaling {
 public:
  Yarn(const Settings& settings, double attention_factor)
      : settings_(settings), attention_factor_(attention_factor) {}

  absl::StatusOr<ScaledPairs> Scale(const RopeShape& shape) const override {
    if (shape.base <= 1) {
      return InvalidField(
          "factor", absl::StrCat("needs a base of more than 1, not ",
                                 shape.base, ": no pair would be the slowest"));
    }
    double low = PairWithRotations(settings_.beta_fast, shape);
    double high = PairWithRotations(settings_.beta_slow, shape);
    if (settings_.truncate) {
      low = std::floor(low);
      high = std::ceil(high);
    }
    low = std::max(low, 0.0);
    high = std::min(high, static_cast<double>(shape.rotary_dim - 1));
    if (low == high) high += 0.001;

    const auto ramp = [&](int64_t k, auto type) {
      using T = decltype(type);
      return std::clamp<T>((static_cast<T>(k) - static_cast<T>(low)) /
                               static_cast<T>(high - low),
                           0, 1);
    };
    const auto frequency = [&](int64_t k, auto type) {
      using T = decltype(type);
      return Between(
          PairFrequency<T>(shape, k),
          PairFrequency<T>(shape, k, static_cast<T>(settings_.factor)),
          ramp(k, type));
    };
    return ScaledPairs{.frequencies = EachPair(shape, frequency),
                       .attention_factor = attention_factor_,
                       .ramp = EachPair(shape, ramp)};
  }
  double factor() const override { return settings_.factor; }
  int64_t original_length() const override {
    return static_cast<int64_t>(settings_.original_length);
  }
  double attention_factor() const override { return attention_factor_; }

 private:
  // Interpolates between both frequencies. In float, the published code uses
  // 1 - (1 - ramp) as the weight, which is not equal to `ramp`.
  template <typename T>
  static T Between(T kept, T stretched, T ramp) {
    const T rest = 1 - ramp;
    if constexpr (std::is_same_v<T, float>) ramp = 1 - rest;
    return stretched * ramp + kept * rest;
  }
  // The pair that makes that many rotations within the original length;
  // generally not an integer.
  double PairWithRotations(double rotations, const RopeShape& shape) const {
    return static_cast<double>(shape.rotary_dim) *
           std::log(settings_.original_length /
                    (rotations * 2 * std::numbers::pi)) /
           (2 * std::log(shape.base));
  }

  const Settings settings_;
  const double attention_factor_;
};

// An optional number. Zero counts as unset, as in the transformers library.
double Given(const Arguments& arguments, absl::string_view name) {
  return arguments.Has(name) ? arguments.Number(name) : 0;
}

double AttentionFactor(const Arguments& arguments, double factor) {
  if (arguments.Has("attention_factor")) {
    return arguments.Number("attention_factor");
  }
  const double mscale = Given(arguments, "mscale");
  const double all_dim = Given(arguments, "mscale_all_dim");
  if (mscale == 0 || all_dim == 0) return Temperature(factor, 1);
  return Temperature(factor, mscale) / Temperature(factor, all_dim);
}

absl::StatusOr<std::unique_ptr<RopeScaling>> Make(const Arguments& arguments) {
  const Settings settings{.factor = arguments.Number("factor"),
                          .original_length = static_cast<double>(
                              arguments.Integer("original_length")),
                          .beta_fast = arguments.Number("beta_fast"),
                          .beta_slow = arguments.Number("beta_slow"),
                          .truncate = arguments.Flag("truncate")};
  return std::make_unique<Yarn>(settings,
                                AttentionFactor(arguments, settings.factor));
}

Parameter Rotations(absl::string_view name, absl::string_view description,
                    double default_rotations) {
  return {.kind = ParameterKind::kNumber,
          .name = std::string(name),
          .description = description,
          .default_number = default_rotations,
          .min = 1e-6,
          .max = 1e9};
}

Parameter Mscale(absl::string_view name) {
  return {.kind = ParameterKind::kNumber,
          .name = std::string(name),
          .description =
              "determines the attention factor, together with the other mscale",
          .min = 0,
          .max = 1e6};
}

}  // namespace

RopeScalingInfo DescribeYarn() {
  return {
      .name = "yarn",
      .description =
          "slow pairs are interpolated, fast pairs are kept, attention is "
          "sharpened; needs a base above 1",
      .parameters =
          {ScalingFactor(),
           OriginalLength(),
           Rotations("beta_fast",
                     "pairs with more rotations in the original length are "
                     "kept",
                     32),
           Rotations("beta_slow",
                     "pairs with fewer rotations in the original length are "
                     "slowed down by the factor",
                     1),
           {.kind = ParameterKind::kFlag,
            .name = "truncate",
            .description = "round the ends of the ramp to whole pairs",
            .default_number = 1},
           GivenAttentionFactor(),
           Mscale("mscale"),
           Mscale("mscale_all_dim")},
      .make = Make};
}

}  // namespace locus
