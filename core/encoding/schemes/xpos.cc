// xPos: RoPE with an exponential decay.
//
//   query at i: RoPE, then pair k times zeta_k^((i - c) / scale_base)
//   key at j:   RoPE, then pair k times zeta_k^((c - j) / scale_base)
//   zeta_k = (2k + 0.4 d) / (1.4 d),  w_k = base^(-2k / d)
//
// Sun et al., 2023, "A Length-Extrapolatable Transformer", section 3.1. The
// contribution of pair k to a score is multiplied by
// zeta_k^((i - j) / scale_base): slow pairs decay slowly, fast pairs quickly.
// The factor would grow for keys after their query, so the scheme is causal.
// Past the training length distant keys fade.
//
// The centre c cancels in the scores, but determines the size of the factors:
// with c = 0 they overflow near position 36,000 in single precision and near
// 280,000 in double. If it is not set, the centre is the middle of the call's
// positions. Calls whose factors would still overflow are rejected.
#include <algorithm>
#include <cmath>
#include <memory>
#include <numbers>
#include <optional>

#include "absl/strings/str_cat.h"
#include "core/base/status.h"
#include "core/encoding/rope_scaling/scaling.h"
#include "core/encoding/scheme.h"
#include "core/encoding/schemes/rotation_parameters.h"

namespace locus {
namespace {

class Xpos final : public SchemeFormula {
 public:
  struct Settings {
    double base;
    Rotation::Pairing pairing;
    double scale_base;
    std::optional<int64_t> centre;
  };

  explicit Xpos(const Settings& settings) : settings_(settings) {}

  Promises PropertiesWith(const Promises& promises) const override {
    Promises amended = promises;
    if (settings_.base < 1) {  // Frequencies above one radian per position.
      amended[static_cast<int>(Property::kSmoothness)].answer =
          Promise::Answer::kNo;
    }
    if (settings_.centre.has_value()) {
      amended[static_cast<int>(Property::kLengthIndependence)].answer =
          Promise::Answer::kYes;
    }
    // The first pair has the largest factors, zeta_0 = 0.4 / 1.4.
    constexpr double kManyPositions = 1 << 20;
    const double farthest =
        settings_.centre.has_value()
            ? std::max(std::abs(static_cast<double>(*settings_.centre)),
                       kManyPositions - static_cast<double>(*settings_.centre))
            : kManyPositions / 2;
    if (farthest * std::log2(1.4 / 0.4) / settings_.scale_base <=
        Geometry().max_exponent) {
      amended[static_cast<int>(Property::kOpenEndedness)].answer =
          Promise::Answer::kYes;
    }
    return amended;
  }

  absl::StatusOr<CompiledScheme> Compile(
      const Geometry& geometry) const override {
    const int64_t dim = geometry.dim;
    if (dim % 2 != 0 || dim < 2) {
      return InvalidField("base", absl::StrCat("needs heads of an even "
                                               "dimension; this one is ",
                                               dim));
    }
    Rotation rotation;
    rotation.pairing = settings_.pairing;
    rotation.frequencies = PairFrequencies(
        {.base = settings_.base, .rotary_dim = dim, .dim = dim});
    rotation.growth.resize(dim / 2);
    const auto d = static_cast<double>(dim);
    for (int64_t k = 0; k < dim / 2; ++k) {
      const double zeta = (static_cast<double>(2 * k) + 0.4 * d) / (1.4 * d);
      rotation.growth[k] = std::log(zeta) / settings_.scale_base;
    }
    const int64_t last = std::max(geometry.max_position, geometry.min_position);
    rotation.centre = settings_.centre.value_or(
        geometry.min_position + (last - geometry.min_position) / 2);
    rotation.is_causal = true;
    rotation.origin = OriginWithin(geometry, 0, 1);
    if (rotation.origin.original_length > 0) {
      rotation.origin.frequencies = rotation.frequencies;
    }
    LOCUS_RETURN_IF_ERROR(CheckGrowth(geometry, last, rotation));
    return rotation;
  }

 private:
  // INVALID_ARGUMENT if the growth factors of the call would overflow.
  absl::Status CheckGrowth(const Geometry& geometry, int64_t last,
                           const Rotation& rotation) const {
    const int64_t first = geometry.min_position;
    if (rotation.GrowthExponent(first, last) <= geometry.max_exponent) {
      return absl::OkStatus();
    }
    // The first pair has the largest factors.
    const double allowed = std::floor(geometry.max_exponent *
                                      std::numbers::ln2 / -rotation.growth[0]);
    const bool single = geometry.max_exponent < kDoubleExponent;
    return InvalidField(
        settings_.centre ? "centre" : "scale_base",
        absl::StrCat("lets factors overflow: positions are ", first, " to ",
                     last, ", and the centre is ", rotation.centre, "; ",
                     single ? "single" : "double", " precision holds those of ",
                     "positions up to ", allowed, " from the centre",
                     single ? "; FLOAT64 holds more" : ""));
  }

  const Settings settings_;
};

absl::StatusOr<std::unique_ptr<SchemeFormula>> Make(
    const Arguments& arguments) {
  Xpos::Settings settings{.base = arguments.Number("base"),
                          .pairing = PairingOf(arguments),
                          .scale_base = arguments.Number("scale_base"),
                          .centre = std::nullopt};
  if (arguments.Has("centre")) settings.centre = arguments.Integer("centre");
  return std::make_unique<Xpos>(settings);
}

}  // namespace

SchemeInfo DescribeXpos() {
  return {
      .name = "xpos",
      .title = "Extrapolatable position embedding (xPos)",
      .site = Site::kQueriesAndKeys,
      .parameters = {RotationBase(),
                     RotationLayout(),
                     {.kind = ParameterKind::kNumber,
                      .name = "scale_base",
                      .description =
                          "distance over which pair k decays by zeta_k",
                      .default_number = 512,
                      .min = 1e-3,
                      .max = 1e12},
                     {.kind = ParameterKind::kInteger,
                      .name = "centre",
                      .description =
                          "position at which the factors are 1; the middle of "
                          "the call's positions if unset",
                      .min = 0,
                      .max = 0x1p53}},
      .promises = {kNo, kYes, kYes, kNotApplicable, kYes, kNo, kNo, kYes,
                   Promise{Promise::Answer::kNo, "its envelope does"},
                   Promise{Promise::Answer::kYes, "for a base of at least 1"},
                   Promise{Promise::Answer::kNo,
                           "its centre moves with the length, unless it is "
                           "set; scores do not depend on it"},
                   Promise{Promise::Answer::kNo,
                           "its factors overflow far from the centre"},
                   kYes},
      .reference = "Sun et al., 2023, arXiv:2212.10554",
      .beyond_training = "Distant keys fade, the faster the pair turns.",
      .is_causal_only = true,
      .in_default_evaluation = false,
      .make = Make,
  };
}

}  // namespace locus
