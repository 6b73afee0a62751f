// RoPE: rotary position embedding.
//
//   (a, b) -> (a cos pw_k - b sin pw_k, a sin pw_k + b cos pw_k)
//   w_k = base^(-2k / r),  k = 0 .. r/2 - 1
//
// Su et al., 2021, "RoFormer", equation 15. The score of two rotated vectors
// depends on their positions only through the distance. Pair k is channels
// (2k, 2k + 1) in the interleaved layout and (k, k + r/2) in the half-split
// layout; the layouts differ by a permutation of channels. With a rotary
// dimension r below the head's, the first r channels are rotated, the others
// are copied, and the exponent uses r. Past the training length, slow pairs
// reach angles that were never trained and quality falls off quickly. The
// scalings in core/encoding/rope_scaling/ change the frequencies to avoid that.
#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/status.h"
#include "core/encoding/rope_scaling/scaling.h"
#include "core/encoding/scheme.h"
#include "core/encoding/schemes/rotation_parameters.h"

namespace locus {
namespace {

class Rope final : public SchemeFormula {
 public:
  // The scaling is optional; `scaling_name` is the name of its field.
  struct Settings {
    double base;
    Rotation::Pairing pairing;
    int64_t rotary_dim;  // 0: the whole head
    bool single_precision;
    std::unique_ptr<RopeScaling> scaling;
    absl::string_view scaling_name;
  };

  explicit Rope(Settings settings) : settings_(std::move(settings)) {}

  // Lists of factors in a scaling determine the number of pairs.
  int64_t dim() const override {
    return settings_.rotary_dim == 0 && settings_.scaling != nullptr
               ? settings_.scaling->rotary_dim()
               : 0;
  }
  Promises PropertiesWith(const Promises& promises) const override {
    Promises amended = promises;
    if (settings_.scaling != nullptr &&
        settings_.scaling->attention_factor() != 1) {
      amended[static_cast<int>(Property::kNormPreservation)].answer =
          Promise::Answer::kNo;
    }
    if (settings_.base < 1) {  // Frequencies above one radian per position.
      amended[static_cast<int>(Property::kSmoothness)].answer =
          Promise::Answer::kNo;
    }
    if (depends_on_length()) {
      amended[static_cast<int>(Property::kLengthIndependence)].answer =
          Promise::Answer::kNo;
    }
    return amended;
  }
  bool is_user_specified() const override {
    return settings_.scaling != nullptr;
  }
  bool depends_on_length() const override {
    return settings_.scaling != nullptr &&
           settings_.scaling->depends_on_length();
  }

  absl::StatusOr<CompiledScheme> Compile(
      const Geometry& geometry) const override {
    const bool whole_head = settings_.rotary_dim == 0;
    const int64_t rotary_dim = whole_head ? geometry.dim : settings_.rotary_dim;
    if (rotary_dim % 2 != 0 || rotary_dim < 2 || rotary_dim > geometry.dim) {
      return InvalidField(
          "rotary_dim",
          absl::StrCat("is ", rotary_dim,
                       whole_head ? " (the head's dimension)" : "",
                       "; must be even, at least 2 and at most the head's ",
                       geometry.dim));
    }
    if (settings_.scaling != nullptr && settings_.scaling->needs_whole_head() &&
        rotary_dim != geometry.dim) {
      return InvalidField(
          "rotary_dim",
          absl::StrCat("is ", rotary_dim, "; must be unset or the head's ",
                       geometry.dim, " with ", settings_.scaling_name,
                       ", which needs the whole head"));
    }
    const RopeShape shape{
        .base = settings_.base,
        .rotary_dim = rotary_dim,
        .dim = geometry.dim,
        .length = static_cast<double>(geometry.max_position) + 1,
        .single_precision = settings_.single_precision};
    auto pairs = Pairs(shape);
    if (!pairs.ok()) return Within(settings_.scaling_name, pairs.status());
    auto origin = OriginOf(shape, geometry, *pairs);
    if (!origin.ok()) return Within(settings_.scaling_name, origin.status());
    Rotation rotation;
    rotation.pairing = settings_.pairing;
    rotation.frequencies = std::move(pairs->frequencies);
    rotation.attention_factor = pairs->attention_factor;
    rotation.single_precision = settings_.single_precision;
    rotation.origin = *std::move(origin);
    return rotation;
  }

 private:
  // Describes how the scaling changed the frequencies.
  absl::StatusOr<Rotation::Origin> OriginOf(const RopeShape& shape,
                                            const Geometry& geometry,
                                            const ScaledPairs& pairs) const {
    const RopeScaling* scaling = settings_.scaling.get();
    Rotation::Origin origin = OriginWithin(
        geometry, scaling == nullptr ? 0 : scaling->original_length(),
        scaling == nullptr ? 1 : scaling->factor());
    if (scaling == nullptr && origin.original_length == 0) return origin;
    origin.frequencies = PairFrequencies(shape);
    if (scaling == nullptr) return origin;
    if (!scaling->depends_on_length() || origin.target_length == 0) {
      origin.ramp = RampOf(*scaling, origin.frequencies, pairs);
      return origin;
    }
    RopeShape target = shape;
    target.length = origin.target_length;
    LOCUS_ASSIGN_OR_RETURN(ScaledPairs target_pairs, scaling->Scale(target));
    origin.ramp = RampOf(*scaling, origin.frequencies, target_pairs);
    if (target_pairs.frequencies != pairs.frequencies) {
      origin.target_frequencies = std::move(target_pairs.frequencies);
    }
    return origin;
  }

  // Interpolation weight of each pair; see Rotation::Origin::ramp.
  static std::vector<double> RampOf(const RopeScaling& scaling,
                                    const std::vector<double>& unscaled,
                                    const ScaledPairs& pairs) {
    if (!pairs.ramp.empty()) return pairs.ramp;
    std::vector<double> ramp(unscaled.size());
    const double whole = 1 - 1 / scaling.factor();
    for (size_t k = 0; k < ramp.size() && whole != 0; ++k) {
      ramp[k] = std::clamp((1 - pairs.frequencies[k] / unscaled[k]) / whole,
                           0.0, 1.0);
    }
    return ramp;
  }

  absl::StatusOr<ScaledPairs> Pairs(const RopeShape& shape) const {
    if (settings_.scaling != nullptr) return settings_.scaling->Scale(shape);
    return ScaledPairs{.frequencies = PairFrequencies(shape)};
  }

  const Settings settings_;
};

absl::Status SetScaling(const Arguments& arguments, Rope::Settings* settings) {
  for (const RopeScalingInfo& info : AllRopeScalings()) {
    if (!arguments.Has(info.name)) continue;
    auto scaling = info.make(arguments.Within(info.name));
    if (!scaling.ok()) return Within(info.name, scaling.status());
    settings->scaling = *std::move(scaling);
    settings->scaling_name = info.name;
  }
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<SchemeFormula>> Make(
    const Arguments& arguments) {
  Rope::Settings settings{
      .base = arguments.Number("base"),
      .pairing = Rotation::Pairing::kAdjacent,
      .rotary_dim =
          arguments.Has("rotary_dim") ? arguments.Integer("rotary_dim") : 0,
      .single_precision = arguments.Choice("angles") == "FLOAT32",
      .scaling = nullptr,
      .scaling_name = ""};
  LOCUS_RETURN_IF_ERROR(SetScaling(arguments, &settings));
  // Scalings of the whole head default to the half-split layout.
  const bool whole_head =
      settings.scaling != nullptr && settings.scaling->needs_whole_head();
  settings.pairing =
      PairingOf(arguments, whole_head ? Rotation::Pairing::kHalves
                                      : Rotation::Pairing::kAdjacent);
  return std::make_unique<Rope>(std::move(settings));
}

std::vector<Parameter> Parameters() {
  Parameter layout = RotationLayout();
  layout.description =
      "which channels form a pair; with proportional, the default is "
      "HALF_SPLIT";
  std::vector<Parameter> parameters = {
      RotationBase(),
      std::move(layout),
      {.kind = ParameterKind::kInteger,
       .name = "rotary_dim",
       .description = "number of rotated channels, even; all if unset",
       .min = 2,
       .max = 0x1p31},
      {.kind = ParameterKind::kChoice,
       .name = "angles",
       .description = "precision of the angles: double, or single with the "
                      "rounding of common frameworks",
       .choices = {"EXACT", "FLOAT32"}}};
  for (const RopeScalingInfo& info : AllRopeScalings()) {
    parameters.push_back({.kind = ParameterKind::kGroup,
                          .name = std::string(info.name),
                          .description = info.description,
                          .category = "scaling"});
    for (Parameter parameter : info.parameters) {
      parameter.name = absl::StrCat(info.name, ".", parameter.name);
      parameters.push_back(std::move(parameter));
    }
  }
  return parameters;
}

}  // namespace

SchemeInfo DescribeRope() {
  return {
      .name = "rope",
      .title = "Rotary position embedding",
      .site = Site::kQueriesAndKeys,
      .parameters = Parameters(),
      .promises = {kNo, kYes, kYes, kNotApplicable, kYes,
                   Promise{Promise::Answer::kYes,
                           "unless a scaling has an attention factor"},
                   kYes, kYes, kNo,
                   Promise{Promise::Answer::kYes, "for a base of at least 1"},
                   Promise{Promise::Answer::kYes,
                           "unless a scaling depends on the length"},
                   kYes, kYes},
      .reference = "Su et al., 2021, arXiv:2104.09864",
      .beyond_training =
          "Slow pairs reach angles that were never trained; quality falls off "
          "quickly, unless a scaling stretches them.",
      .make = Make,
  };
}

}  // namespace locus
