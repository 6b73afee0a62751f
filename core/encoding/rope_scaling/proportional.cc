// Proportional RoPE, or p-RoPE.
//
//   n = floor(share d / 2)
//   w'_k = base^(-2k / d) / factor   for k < n,  0 for the others
//
// Barbero et al., 2025, "Round and Round We Go! What makes Rotary Positional
// Encodings useful?", section 6: the slowest pairs, which carry meaning rather
// than position, do not turn at all. Unlike a rotary dimension below the
// head's, d in the exponent and in the pairs is the whole head.
#include "core/encoding/rope_scaling/scaling.h"

namespace locus {
namespace {

class Proportional final : public RopeScaling {
 public:
  Proportional(double share, double factor) : share_(share), factor_(factor) {}

  absl::StatusOr<ScaledPairs> Scale(const RopeShape& shape) const override {
    const auto turning = static_cast<int64_t>(
        std::floor(share_ * static_cast<double>(shape.dim) / 2));
    return ScaledPairs{EachPair(shape, [&](int64_t k, auto type) {
      using T = decltype(type);
      return k < turning ? PairFrequency<T>(shape, k) / static_cast<T>(factor_)
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
  return {.name = "proportional",
          .description = "the slowest pairs of the head do not turn",
          .parameters = {{.kind = ParameterKind::kNumber,
                          .name = "share",
                          .description = "of the pairs that turn",
                          .default_number = 1,
                          .min = 0,
                          .max = 1},
                         ScalingFactor()},
          .make = Make};
}

}  // namespace locus
