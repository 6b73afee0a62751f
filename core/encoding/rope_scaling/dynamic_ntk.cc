// Dynamic NTK-aware scaling.
//
//   s = max(length, max_position),
//   base' = base (factor s / max_position - (factor - 1))^(r / (r - 2))
//
// NTK-aware scaling (see ntk.cc) with a factor that depends on the length of
// the call. Calls of up to max_position are not scaled. The length is the
// largest position of the request plus one. No state is kept between calls, so
// that equal requests have equal results.
#include <algorithm>

#include "core/encoding/rope_scaling/ntk.h"

namespace locus {
namespace {

class DynamicNtk final : public RopeScaling {
 public:
  DynamicNtk(double factor, int64_t max_position)
      : factor_(factor), max_position_(static_cast<double>(max_position)) {}

  absl::StatusOr<ScaledPairs> Scale(const RopeShape& shape) const override {
    const double length = std::max(shape.length, max_position_);
    return ScaleBase(shape, factor_ * length / max_position_ - (factor_ - 1));
  }
  double factor() const override { return factor_; }
  int64_t original_length() const override {
    return static_cast<int64_t>(max_position_);
  }
  bool depends_on_length() const override { return true; }

 private:
  const double factor_;
  const double max_position_;
};

absl::StatusOr<std::unique_ptr<RopeScaling>> Make(const Arguments& arguments) {
  return std::make_unique<DynamicNtk>(arguments.Number("factor"),
                                      arguments.Integer("max_position"));
}

}  // namespace

RopeScalingInfo DescribeDynamicNtk() {
  return {
      .name = "dynamic_ntk",
      .description =
          "a base that grows when a call exceeds max_position; needs at least "
          "two pairs",
      .parameters = {ScalingFactor(),
                     {.kind = ParameterKind::kInteger,
                      .name = "max_position",
                      .description = "max length of a call that is not scaled",
                      .default_number = 2048,
                      .min = 1,
                      .max = 0x1p53}},
      .make = Make};
}

}  // namespace locus
