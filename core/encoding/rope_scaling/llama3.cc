// The scaling of Llama 3.1.
//
//   l_k = 2 pi / w_k, the wavelength in tokens
//   w'_k = w_k / factor                      if l_k > L0 / low_freq_factor
//   w'_k = w_k                               if l_k < L0 / high_freq_factor
//   w'_k = (1 - t) w_k / factor + t w_k      else,
//   t = (L0 / l_k - low_freq_factor) / (high_freq_factor - low_freq_factor)
//
// Grattafiori et al., 2024, "The Llama 3 Herd of Models", and its published
// code. L0 is the original length. If both factors are equal, no pair is
// interpolated partially, as in the published configuration of Llama 4. Like
// YaRN, this scaling keeps fast pairs and interpolates slow ones, but it has no
// attention factor.
#include <numbers>
#include <type_traits>

#include "absl/strings/str_cat.h"
#include "core/base/status.h"
#include "core/encoding/rope_scaling/scaling.h"

namespace locus {
namespace {

struct Settings {
  double factor;
  double low_freq_factor;
  double high_freq_factor;
  double original_length;
};

class Llama3 final : public RopeScaling {
 public:
  explicit Llama3(const Settings& settings) : settings_(settings) {}

  absl::StatusOr<ScaledPairs> Scale(const RopeShape& shape) const override {
    return ScaledPairs{EachPair(shape, [&](int64_t k, auto type) {
      return Scaled(PairFrequency<decltype(type)>(shape, k));
    })};
  }
  double factor() const override { return settings_.factor; }
  int64_t original_length() const override {
    return static_cast<int64_t>(settings_.original_length);
  }

 private:
  template <typename T>
  T Scaled(T frequency) const {
    const auto& [factor, low, high, length] = settings_;
    const T stretch = static_cast<T>(factor);
    const T wavelength = Over<T>(2 * std::numbers::pi, frequency);
    if (wavelength > static_cast<T>(length / low)) return frequency / stretch;
    if (wavelength < static_cast<T>(length / high)) return frequency;
    if (high == low) return frequency / stretch;
    const T t = (Over<T>(length, wavelength) - static_cast<T>(low)) /
                static_cast<T>(high - low);
    return (1 - t) * frequency / stretch + t * frequency;
  }
  // A scalar divided by an element of a tensor. In float, frameworks multiply
  // the scalar by the inverse of the element.
  template <typename T>
  static T Over(double number, T divisor) {
    if constexpr (std::is_same_v<T, float>) {
      return 1 / divisor * static_cast<T>(number);
    }
    return static_cast<T>(number / static_cast<double>(divisor));
  }

  const Settings settings_;
};

absl::StatusOr<std::unique_ptr<RopeScaling>> Make(const Arguments& arguments) {
  const Settings settings{
      .factor = arguments.Number("factor"),
      .low_freq_factor = arguments.Number("low_freq_factor"),
      .high_freq_factor = arguments.Number("high_freq_factor"),
      .original_length =
          static_cast<double>(arguments.Integer("original_length"))};
  if (settings.low_freq_factor > settings.high_freq_factor) {
    return InvalidField(
        "high_freq_factor",
        absl::StrCat("is ", settings.high_freq_factor,
                     "; must not be less than low_freq_factor, which is ",
                     settings.low_freq_factor));
  }
  return std::make_unique<Llama3>(settings);
}

Parameter FreqFactor(absl::string_view name, absl::string_view description,
                     double value) {
  return {.kind = ParameterKind::kNumber,
          .name = std::string(name),
          .description = description,
          .default_number = value,
          .min = 1e-6,
          .max = 1e9};
}

}  // namespace

RopeScalingInfo DescribeLlama3() {
  return {.name = "llama3",
          .description = "long wavelengths are stretched, short ones are kept",
          .parameters =
              {ScalingFactor(8),
               FreqFactor("low_freq_factor",
                          "wavelengths above original_length divided by this "
                          "are stretched by the factor",
                          1),
               FreqFactor("high_freq_factor",
                          "wavelengths below original_length divided by this "
                          "are kept; not less than low_freq_factor",
                          4),
               OriginalLength(8192)},
          .make = Make};
}

}  // namespace locus
