// Proportional RoPE, or p-RoPE.
//
//   n = floor(share d / 2)
//   w'_k = base^(-2k / d) / factor   for k < n,  0 for the others
//
// Barbero et al., 2025, "Round and Round We Go!", section 6. The slowest pairs,
// which carry semantic rather than positional information, are not rotated.
// Unlike with a rotary dimension below the head's, the exponent and the pairing
// use the dimension d of the whole head.
#include "core/encoding/rope_scaling/scaling.h"

namespace locus {
namespace {

class Proportional final : public RopeScaling {
 public:
  Proportional(double share, double factor) : share_(share), factor_(factor) {}

  absl::StatusOr<ScaledPairs> Scale(const RopeShape& shape) const override {
    const auto rotated = static_cast<int64_t>(
        std::floor(share_ * static_cast<double>(shape.dim) / 2));
    return ScaledPairs{EachPair(shape, [&](int64_t k, auto type) {
      using T = decltype(type);
      return k < rotated ? PairFrequency<T>(shape, k) / static_cast<T>(factor_)
                         : T{0};
    })};
  }
  bool needs_whole_head() const override { return true; }
  double factor() const override { return factor_; }

 private:
  const double share_;
  const double factor_;
};

absl::StatusOr<std::unique_ptr<RopeScaling>> Make(const Arguments& arguments) {
  return std::make_unique<Proportional>(arguments.Number("share"),
                                        arguments.Number("factor"));
}

}  // namespace

RopeScalingInfo DescribeProportional() {
  return {
      .name = "proportional",
      .description = "the slowest pairs of the head are not rotated",
      .parameters = {{.kind = ParameterKind::kNumber,
                      .name = "share",
                      .description = "fraction of the pairs that are rotated",
                      .default_number = 1,
                      .min = 0,
                      .max = 1},
                     ScalingFactor()},
      .make = Make};
}

}  // namespace locus
