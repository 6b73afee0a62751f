#include "core/properties/naive.h"

#include <algorithm>
#include <memory>

#include "absl/strings/str_cat.h"
#include "core/base/status.h"
#include "core/encoding/registry.h"

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

absl::Span<const SchemeInfo> NaiveEncodings() {
  static const auto* const encodings = new std::vector<SchemeInfo>{
      {.name = "integer",
       .title = "Integer positions",
       .site = Site::kEmbeddings,
       .promises = {kNo, kYes, kNo, kNo, kNotApplicable, kNotApplicable, kNo,
                    kYes, kNo, kYes, kYes, kYes, kYes},
       .beyond_training = "Grows without bound.",
       .make = MakeNaive<NaiveKind::kInteger>},
      {.name = "normalised",
       .title = "Positions divided by the length",
       .site = Site::kEmbeddings,
       .promises = {kNo, kYes, kNo, kNo, kNotApplicable, kNotApplicable, kYes,
                    kYes, kNo, kYes, kNo, kYes, kYes},
       .beyond_training = "All positions move closer together.",
       .make = MakeNaive<NaiveKind::kNormalised>},
      {.name = "one_hot",
       .title = "One-hot positions",
       .site = Site::kEmbeddings,
       .promises = {kNo, kYes, kNo, kYes, kNotApplicable, kNotApplicable, kYes,
                    kYes, kNo, kNo, kYes, kNo, kYes},
       .beyond_training = "Positions past the width have no code.",
       .make = MakeNaive<NaiveKind::kOneHot>},
  };
  return *encodings;
}

std::vector<PropertyResult> CheckNaive(const SchemeInfo& encoding) {
  // MakeScheme cannot fail, since a naive encoding has no parameters.
  return *CheckProperties(**MakeScheme(encoding, {}), encoding.promises,
                          CancellationCheck());
}

}  // namespace locus
