#include "core/encoding/schemes/rotation_parameters.h"

#include <algorithm>

namespace locus {

Parameter RotationBase() {
  return {
      .kind = ParameterKind::kNumber,
      .name = "base",
      .description = "the slowest pair makes one rotation in about 2 pi base",
      .default_number = 10000,
      .min = 1e-6,
      .max = 1e30};
}

Parameter RotationLayout() {
  return {.kind = ParameterKind::kChoice,
          .name = "layout",
          .description = "which channels form a pair",
          .choices = {"INTERLEAVED", "HALF_SPLIT"}};
}

Rotation::Pairing PairingOf(const Arguments& arguments,
                            Rotation::Pairing unset) {
  if (!arguments.IsGiven("layout")) return unset;
  return arguments.Choice("layout") == "INTERLEAVED"
             ? Rotation::Pairing::kAdjacent
             : Rotation::Pairing::kHalves;
}

Rotation::Origin OriginWithin(const Geometry& geometry, int64_t original_length,
                              double factor) {
  Rotation::Origin origin;
  origin.original_length =
      geometry.trained_length > 0 ? geometry.trained_length : original_length;
  origin.target_length = geometry.target_length;
  if (origin.original_length == 0 && origin.target_length > 0) {
    origin.original_length = std::max<int64_t>(
        1, static_cast<int64_t>(origin.target_length / factor));
  }
  if (origin.target_length == 0) {
    origin.target_length = static_cast<double>(origin.original_length) * factor;
  }
  return origin;
}

}  // namespace locus
