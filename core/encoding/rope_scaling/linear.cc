// Linear scaling, or position interpolation.
//
//   w'_k = w_k / factor
//
// Chen et al., 2023, "Extending Context Window of Large Language Models via
// Position Interpolation", equation 4. All positions are compressed into the
// trained range, which also reduces the distance between nearby tokens.
#include "core/encoding/rope_scaling/scaling.h"

namespace locus {
namespace {

class Linear final : public RopeScaling {
 public:
  explicit Linear(double factor) : factor_(factor) {}

  absl::StatusOr<ScaledPairs> Scale(const RopeShape& shape) const override {
    return ScaledPairs{EachPair(shape, [&](int64_t k, auto type) {
      using T = decltype(type);
      return PairFrequency<T>(shape, k) / static_cast<T>(factor_);
    })};
  }
  double factor() const override { return factor_; }

 private:
  const double factor_;
};

absl::StatusOr<std::unique_ptr<RopeScaling>> Make(const Arguments& arguments) {
  return std::make_unique<Linear>(arguments.Number("factor"));
}

}  // namespace

RopeScalingInfo DescribeLinear() {
  return {.name = "linear",
          .description =
              "position interpolation: all pairs are slowed down by the factor",
          .parameters = {ScalingFactor()},
          .make = Make};
}

}  // namespace locus
