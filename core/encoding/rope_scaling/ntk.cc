// NTK-aware scaling.
//
//   base' = base factor^(r / (r - 2)),  w'_k = base'^(-2k / r)
//
// Proposed by users of LLaMA in 2023 and described by Peng et al., 2023,
// "YaRN", section 3.1. The fastest pair is unchanged, the slowest is slowed
// down by the factor, and the pairs between them by an amount between 1 and the
// factor. A rotary dimension of 2 has only one pair, which would be both the
// fastest and the slowest.
#include "core/encoding/rope_scaling/ntk.h"
#include "absl/strings/str_cat.h"
#include "core/base/status.h"

namespace locus {

absl::StatusOr<ScaledPairs> ScaleBase(RopeShape shape, double growth) {
  if (shape.rotary_dim == 2) {
    return InvalidField("factor",
                        "has no meaning for a rotary dimension of 2; at least "
                        "4 is needed");
  }
  const auto r = static_cast<double>(shape.rotary_dim);
  shape.base *= std::pow(growth, r / (r - 2));
  return ScaledPairs{.frequencies = PairFrequencies(shape)};
}

namespace {

class Ntk final : public RopeScaling {
 public:
  explicit Ntk(double factor) : factor_(factor) {}

  absl::StatusOr<ScaledPairs> Scale(const RopeShape& shape) const override {
    return ScaleBase(shape, factor_);
  }
  double factor() const override { return factor_; }

 private:
  const double factor_;
};

absl::StatusOr<std::unique_ptr<RopeScaling>> Make(const Arguments& arguments) {
  return std::make_unique<Ntk>(arguments.Number("factor"));
}

}  // namespace

RopeScalingInfo DescribeNtk() {
  return {.name = "ntk",
          .description =
              "a larger base, which slows down slow pairs the most; needs at "
              "least two pairs",
          .parameters = {ScalingFactor()},
          .make = Make};
}

}  // namespace locus
