// Rotary position embedding.
//
//   (a, b) -> (a cos pw_k - b sin pw_k, a sin pw_k + b cos pw_k)
//   w_k = base^(-2k / r),  k = 0 .. r/2 - 1
//
// Su et al., 2021, "RoFormer", equation 15. The score of two rotated vectors
// depends on the distance of their positions alone. Pairs are channels
// (2k, 2k + 1) when interleaved and (k, k + r/2) when half-split; the two
// differ by a permutation of channels. With a rotary dimension r below the
// head's, the first r channels turn, the rest are copied, and r stands in the
// exponent. Past the training length, slow pairs reach angles no model has
// seen, and quality falls off quickly.
#include <cmath>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/status.h"
#include "core/encoding/scheme.h"

namespace locus {
namespace {

class Rope final : public SchemeFormula {
 public:
  Rope(double base, Rotation::Pairing pairing, int64_t rotary_dim)
      : base_(base), pairing_(pairing), rotary_dim_(rotary_dim) {}

  absl::StatusOr<CompiledScheme> Compile(
      const Geometry& geometry) const override {
    const int64_t rotary_dim = rotary_dim_ == 0 ? geometry.dim : rotary_dim_;
    if (rotary_dim % 2 != 0 || rotary_dim < 2 || rotary_dim > geometry.dim) {
      return InvalidField(
          "rotary_dim",
          absl::StrCat("is ", rotary_dim,
                       rotary_dim_ == 0 ? " (the head's dimension)" : "",
                       "; must be even, at least 2 and at most the head's ",
                       geometry.dim));
    }
    Rotation rotation;
    rotation.pairing = pairing_;
    rotation.frequencies.resize(rotary_dim / 2);
    for (int64_t k = 0; k < rotary_dim / 2; ++k) {
      rotation.frequencies[k] =
          std::pow(base_, -2.0 * static_cast<double>(k) /
                              static_cast<double>(rotary_dim));
    }
    return rotation;
  }

 private:
  const double base_;
  const Rotation::Pairing pairing_;
  const int64_t rotary_dim_;  // 0: the whole head
};

absl::StatusOr<std::unique_ptr<SchemeFormula>> Make(
    const Arguments& arguments) {
  const bool interleaved = arguments.Choice("layout") == "INTERLEAVED";
  return std::make_unique<Rope>(
      arguments.Number("base"),
      interleaved ? Rotation::Pairing::kAdjacent : Rotation::Pairing::kHalves,
      arguments.Has("rotary_dim") ? arguments.Integer("rotary_dim") : 0);
}

}  // namespace

SchemeInfo DescribeRope() {
  return {
      .name = "rope",
      .title = "Rotary position embedding",
      .site = Site::kQueriesAndKeys,
      .parameters = {{.kind = ParameterKind::kNumber,
                      .name = "base",
                      .description =
                          "the slowest pair turns once in about 2 pi base",
                      .default_number = 10000,
                      .min = 1e-6,
                      .max = 1e30},
                     {.kind = ParameterKind::kChoice,
                      .name = "layout",
                      .description = "which channels turn together",
                      .choices = {"INTERLEAVED", "HALF_SPLIT"}},
                     {.kind = ParameterKind::kInteger,
                      .name = "rotary_dim",
                      .description =
                          "how many channels turn, even; all if unset",
                      .min = 2,
                      .max = 0x1p31}},
      .promises = {kNo, kYes, kYes, kNotApplicable, kYes, kYes, kYes, kYes,
                   kNo},
      .reference = "Su et al., 2021, arXiv:2104.09864",
      .beyond_training =
          "Slow pairs reach angles that were never trained; quality falls off "
          "quickly.",
      .make = Make,
  };
}

}  // namespace locus
