#include "core/properties/naive.h"

#include <algorithm>
#include <memory>

#include "absl/strings/str_cat.h"
#include "core/base/status.h"
#include "core/encoding/registry.h"
#include "core/properties/code_rules.h"
#include "core/properties/property_case.h"

namespace locus {
namespace {

enum class NaiveKind { kInteger, kNormalised, kOneHot };

// Width of one-hot codes, and hence the number of positions they can encode.
constexpr int64_t kOneHotDim = 64;

class NaiveCode final : public AdditiveCode {
 public:
  NaiveCode(NaiveKind kind, int64_t length) : kind_(kind), length_(length) {}

  void Row(int64_t position, absl::Span<double> row) const override {
    if (kind_ == NaiveKind::kOneHot) {
      std::fill(row.begin(), row.end(), 0.0);
      row[position] = 1;
      return;
    }
    const double divisor =
        kind_ == NaiveKind::kInteger ? 1 : static_cast<double>(length_);
    std::fill(row.begin(), row.end(), static_cast<double>(position) / divisor);
  }

 private:
  const NaiveKind kind_;
  const int64_t length_;
};

class NaiveFormula final : public SchemeFormula {
 public:
  explicit NaiveFormula(NaiveKind kind) : kind_(kind) {}

  int64_t dim() const override {
    return kind_ == NaiveKind::kOneHot ? kOneHotDim : 0;
  }
  absl::StatusOr<CompiledScheme> Compile(
      const Geometry& geometry) const override {
    if (kind_ == NaiveKind::kOneHot && geometry.max_position >= geometry.dim) {
      return InvalidField(
          "dim", absl::StrCat("is ", geometry.dim, "; position ",
                              geometry.max_position, " has no channel"));
    }
    return std::make_unique<NaiveCode>(kind_, geometry.max_position + 1);
  }

 private:
  const NaiveKind kind_;
};

template <NaiveKind kind>
absl::StatusOr<std::unique_ptr<SchemeFormula>> MakeNaive(const Arguments&) {
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
        .make = MakeNaive<NaiveKind::kInteger>},
       {kYes, kYes, kYes}},
      {{.name = "normalised",
        .title = "Positions divided by the length",
        .site = Site::kEmbeddings,
        .promises = {kNo, kYes, kNo, kNo, kNotApplicable, kNotApplicable, kYes,
                     kYes, kNo},
        .beyond_training = "All positions move closer together.",
        .make = MakeNaive<NaiveKind::kNormalised>},
       {kNo, kYes, kYes}},
      {{.name = "one_hot",
        .title = "One-hot positions",
        .site = Site::kEmbeddings,
        .promises = {kNo, kYes, kNo, kYes, kNotApplicable, kNotApplicable, kYes,
                     kYes, kNo},
        .beyond_training = "Positions past the width have no code.",
        .make = MakeNaive<NaiveKind::kOneHot>},
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
  // MakeScheme cannot fail, since a naive encoding has no parameters.
  const auto scheme = MakeScheme(encoding.info, {});
  std::vector<PropertyResult> results =
      *CheckProperties(**scheme, encoding.info.promises, CancellationCheck());
  for (PropertyResult& result : CheckCodeRules(**scheme, encoding.code_rules)) {
    results.push_back(std::move(result));
  }
  return results;
}

}  // namespace locus
