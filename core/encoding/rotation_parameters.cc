#include "core/encoding/rotation_parameters.h"

namespace locus {

Parameter RotationBase() {
  return {.kind = ParameterKind::kNumber,
          .name = "base",
          .description = "the slowest pair turns once in about 2 pi base",
          .default_number = 10000,
          .min = 1e-6,
          .max = 1e30};
}

Parameter RotationLayout() {
  return {.kind = ParameterKind::kChoice,
          .name = "layout",
          .description = "which channels turn together",
          .choices = {"INTERLEAVED", "HALF_SPLIT"}};
}

Rotation::Pairing PairingOf(const Arguments& arguments) {
  return arguments.Choice("layout") == "INTERLEAVED"
             ? Rotation::Pairing::kAdjacent
             : Rotation::Pairing::kHalves;
}

}  // namespace locus
