// No positions ("NoPE").
//
// Kazemnejad et al., 2023, "The Impact of Positional Encoding on Length
// Generalization in Transformers". Attention without positions is equivariant
// under permutations of the tokens. Under a causal mask a decoder can still
// infer the order of tokens. Past the training length nothing changes.
#include "core/encoding/scheme.h"

namespace locus {
namespace {

class None final : public SchemeFormula {
 public:
  absl::StatusOr<CompiledScheme> Compile(const Geometry&) const override {
    return CompiledScheme();
  }
};

absl::StatusOr<std::unique_ptr<SchemeFormula>> Make(const Arguments&) {
  return std::make_unique<None>();
}

}  // namespace

SchemeInfo DescribeNone() {
  return {
      .name = "none",
      .title = "No positions",
      .site = Site::kNone,
      .parameters = {},
      .promises = {kYes, kYes, kYes, kNotApplicable, kNotApplicable,
                   kNotApplicable, kYes, kNotApplicable, kNotApplicable,
                   kNotApplicable, kNotApplicable, kNotApplicable,
                   kNotApplicable},
      .reference = "Kazemnejad et al., 2023, arXiv:2305.19466",
      .beyond_training = "Nothing changes with the length.",
      .make = Make,
  };
}

}  // namespace locus
