// LongRoPE.
//
//   w'_k = 1 / (e_k base^(2k / r))
//
// Ding et al., 2024, "LongRoPE", equation 2, as used by Phi-3. e is
// long_factors if the length of the call (its largest position plus one)
// exceeds the original length L0, otherwise short_factors. Both lists have one
// factor per pair, found by search; a list that is not set is all ones. Cosines
// and sines are multiplied by
//
//   sqrt(1 + ln factor / ln L0)    for a factor above 1, else 1,
//
// for short inputs too, because a model is trained with one attention factor.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/status.h"
#include "core/encoding/rope_scaling/scaling.h"

namespace locus {
namespace {

using Factors = std::vector<double>;

class LongRope final : public RopeScaling {
 public:
  LongRope(double factor, double original_length, Factors short_factors,
           Factors long_factors, double attention_factor)
      : factor_(factor),
        original_length_(original_length),
        short_factors_(std::move(short_factors)),
        long_factors_(std::move(long_factors)),
        attention_factor_(attention_factor) {}

  absl::StatusOr<ScaledPairs> Scale(const RopeShape& shape) const override {
    for (const auto& [name, factors] :
         {std::pair("short_factors", &short_factors_),
          std::pair("long_factors", &long_factors_)}) {
      const auto count = static_cast<int64_t>(factors->size());
      if (count == 0 || count == shape.pair_count()) continue;
      return InvalidField(
          name, absl::StrCat("has ", count, " values; must have ",
                             shape.pair_count(), ", one for each pair"));
    }
    const Factors& factors =
        shape.length > original_length_ ? long_factors_ : short_factors_;
    const auto frequency = [&](int64_t k, auto type) {
      using T = decltype(type);
      return PairFrequency<T>(shape, k,
                              static_cast<T>(factors.empty() ? 1 : factors[k]));
    };
    return ScaledPairs{.frequencies = EachPair(shape, frequency),
                       .attention_factor = attention_factor_};
  }
  double factor() const override { return factor_; }
  int64_t original_length() const override {
    return static_cast<int64_t>(original_length_);
  }
  double attention_factor() const override { return attention_factor_; }
  bool depends_on_length() const override { return true; }
  int64_t rotary_dim() const override {
    return 2 * static_cast<int64_t>(
                   std::max(short_factors_.size(), long_factors_.size()));
  }

 private:
  const double factor_;
  const double original_length_;
  const Factors short_factors_;  // [pairs] or empty
  const Factors long_factors_;   // [pairs] or empty
  const double attention_factor_;
};

double AttentionFactor(const Arguments& arguments, double original_length) {
  if (arguments.Has("attention_factor")) {
    return arguments.Number("attention_factor");
  }
  const double factor = arguments.Number("factor");
  if (factor <= 1) return 1;
  return std::sqrt(1 + std::log(factor) / std::log(original_length));
}

absl::StatusOr<std::unique_ptr<RopeScaling>> Make(const Arguments& arguments) {
  const auto original_length =
      static_cast<double>(arguments.Integer("original_length"));
  return std::make_unique<LongRope>(
      arguments.Number("factor"), original_length,
      arguments.Numbers("short_factors"), arguments.Numbers("long_factors"),
      AttentionFactor(arguments, original_length));
}

// The factors of LongRoPE are found by search for a given model. Without a
// search, long_factors are set to the factors by which NTK-aware scaling slows
// down each pair.
void Retrofit(double factor, int64_t rotary_dim, Arguments* arguments) {
  Factors factors(rotary_dim / 2);
  for (size_t k = 0; k < factors.size(); ++k) {
    const double last =
        std::max<double>(static_cast<double>(factors.size()) - 1, 1);
    factors[k] = std::pow(factor, static_cast<double>(k) / last);
  }
  arguments->Set("long_factors", factors);
}

}  // namespace

RopeScalingInfo DescribeLongRope() {
  return {
      .name = "longrope",
      .description = "a separate factor for each pair",
      .parameters = {ScalingFactor(),
                     OriginalLength(),
                     {.kind = ParameterKind::kNumbers,
                      .name = "short_factors",
                      .description =
                          "one per pair, for calls of up to original_length",
                      .min = 1e-6},
                     {.kind = ParameterKind::kNumbers,
                      .name = "long_factors",
                      .description = "one per pair, for longer calls",
                      .min = 1e-6},
                     GivenAttentionFactor()},
      .retrofit = Retrofit,
      .make = Make};
}

}  // namespace locus
