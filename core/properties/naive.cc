#include "core/properties/naive.h"

#include <algorithm>
#include <memory>

#include "absl/strings/str_cat.h"
#include "core/base/status.h"
#include "core/encoding/registry.h"
#include "core/properties/encoding_properties.h"
#include "core/properties/property_case.h"

namespace locus {
namespace {

enum class Kind { kInteger, kNormalised, kOneHot };

// One-hot positions need a maximum; this is it.
constexpr int64_t kOneHotDim = 64;

class NaiveCode final : public AdditiveCode {
 public:
  NaiveCode(Kind kind, int64_t length) : kind_(kind), length_(length) {}

  void Row(int64_t position, absl::Span<double> row) const override {
    if (kind_ == Kind::kOneHot) {
      std::fill(row.begin(), row.end(), 0.0);
      row[position] = 1;
      return;
    }
    const double divisor =
        kind_ == Kind::kInteger ? 1 : static_cast<double>(length_);
    std::fill(row.begin(), row.end(), static_cast<double>(position) / divisor);
  }

 private:
  const Kind kind_;
  const int64_t length_;
};

class NaiveFormula final : public SchemeFormula {
 public:
  explicit NaiveFormula(Kind kind) : kind_(kind) {}

  int64_t dim() const override {
    return kind_ == Kind::kOneHot ? kOneHotDim : 0;
  }
  absl::StatusOr<CompiledScheme> Compile(
      const Geometry& geometry) const override {
    if (kind_ == Kind::kOneHot && geometry.max_position >= geometry.dim) {
      return InvalidField(
          "dim", absl::StrCat("is ", geometry.dim, "; position ",
                              geometry.max_position, " has no channel"));
    }
    return std::make_unique<NaiveCode>(kind_, geometry.max_position + 1);
  }

 private:
  const Kind kind_;
};

template <Kind kind>
absl::StatusOr<std::unique_ptr<SchemeFormula>> Make(const Arguments&) {
  return std::make_unique<NaiveFormula>(kind);
}

}  // namespace

absl::Span<const NaiveEncoding> NaiveEncodings() {
  static const auto* const encodings = new std::vector<NaiveEncoding>{
      {{.name = "integer",
        .title = "Integer positions",
        .site = Site::kEmbeddings,
        .promises = {kNo, kYes, kNo, kNo, kNotApplicable, kNotApplicable, kNo,
                     kYes, kNo},
        .beyond_training = "Grows without bound.",
        .make = Make<Kind::kInteger>},
       {kYes, kYes, kYes}},
      {{.name = "normalised",
        .title = "Positions divided by the length",
        .site = Site::kEmbeddings,
        .promises = {kNo, kYes, kNo, kNo, kNotApplicable, kNotApplicable, kYes,
                     kYes, kNo},
        .beyond_training = "All positions move closer together.",
        .make = Make<Kind::kNormalised>},
       {kNo, kYes, kYes}},
      {{.name = "one_hot",
        .title = "One-hot positions",
        .site = Site::kEmbeddings,
        .promises = {kNo, kYes, kNo, kYes, kNotApplicable, kNotApplicable, kYes,
                     kYes, kNo},
        .beyond_training = "There is nothing past the width.",
        .make = Make<Kind::kOneHot>},
       {kYes, kNo, kNo}},
  };
  return *encodings;
}

std::vector<PropertyResult> CheckCodeRules(const Scheme& scheme,
                                           const CodeRulePromises& promises) {
  return {ResultOf("length_independence", LengthIndependence(scheme),
                   promises[0].answer),
          ResultOf("smoothness", Smoothness(scheme), promises[1].answer),
          ResultOf("open_ended", OpenEndedness(scheme), promises[2].answer)};
}

std::vector<PropertyResult> CheckNaive(const NaiveEncoding& encoding) {
  // A naive encoding takes no arguments that could be wrong.
  const auto scheme = MakeScheme(encoding.info, {});
  std::vector<PropertyResult> results =
      *CheckProperties(**scheme, encoding.info.promises, StopCheck());
  for (PropertyResult& result : CheckCodeRules(**scheme, encoding.code_rules)) {
    results.push_back(std::move(result));
  }
  return results;
}

}  // namespace locus
