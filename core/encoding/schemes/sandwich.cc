// Sandwich.
//
//   bias(h, i, j) = (sum_{k=1}^{D/2} cos((i - j) base^(-2k / D)) - D/2) H /
//   (8h)
//
// Chi et al., 2023, "Dissecting Transformer Length Extrapolation via the Lens
// of Receptive Field Analysis", section 5: the inner product of two sinusoidal
// codes, of a width D that is the scheme's own, scaled for heads h = 1 .. H.
// Nothing is learned. Past the training length the bias stays within its
// bounds.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <memory>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "core/base/status.h"
#include "core/encoding/angles/angles.h"
#include "core/encoding/scheme.h"

namespace locus {
namespace {

// Sums of cosines are kept for distances below this; those beyond are computed
// when asked for.
constexpr int64_t kMaxKept = int64_t{1} << 18;

// What all heads share: the sum, less what it is at distance 0.
class CosineSum {
 public:
  // reach: the largest distance of the call.
  CosineSum(std::vector<double> frequencies, int64_t reach)
      : frequencies_(std::move(frequencies)) {
    if (reach >= kMaxKept) return;
    kept_.resize(reach + 1);
    constexpr int64_t kRows = 64;
    const auto pairs = static_cast<int64_t>(frequencies_.size());
    std::vector<double> sines(kRows * pairs);
    std::vector<double> cosines(kRows * pairs);
    const Positions distances = *Positions::Range(0, reach + 1);
    for (int64_t first = 0; first <= reach; first += kRows) {
      const int64_t count = std::min(kRows, reach + 1 - first);
      FillAngles<double>({.frequencies = frequencies_,
                          .sin = sines.data(),
                          .cos = cosines.data(),
                          .stride = pairs},
                         distances, first, count);
      for (int64_t n = 0; n < count; ++n) {
        kept_[first + n] = Sum(cosines.data() + n * pairs);
      }
    }
  }

  double At(int64_t distance) const {
    if (distance < static_cast<int64_t>(kept_.size())) return kept_[distance];
    std::vector<double> sines(frequencies_.size());
    std::vector<double> cosines(frequencies_.size());
    FillAngles<double>({.frequencies = frequencies_,
                        .sin = sines.data(),
                        .cos = cosines.data()},
                       distance);
    return Sum(cosines.data());
  }

 private:
  double Sum(const double* cosines) const {
    double sum = 0;
    for (size_t k = 0; k < frequencies_.size(); ++k) sum += cosines[k];
    return sum - static_cast<double>(frequencies_.size());
  }

  const std::vector<double> frequencies_;
  std::vector<double> kept_;
};

class SandwichBias final : public ScoreBias {
 public:
  SandwichBias(std::vector<double> frequencies, int64_t reach,
               int64_t head_count)
      : largest_(2 * static_cast<double>(frequencies.size()) *
                 static_cast<double>(head_count) / 8),
        steepest_(absl::c_accumulate(frequencies, 0.0) *
                  static_cast<double>(head_count) / 8),
        sum_(std::move(frequencies), reach),
        head_count_(static_cast<double>(head_count)) {}

  double At(int64_t head, int64_t query_position,
            int64_t key_position) const override {
    return sum_.At(std::abs(query_position - key_position)) * head_count_ /
           (8 * static_cast<double>(head + 1));
  }
  bool is_small() const override { return largest_ <= 128; }
  // Cosines are largest at distance 0, and turn by their frequencies.
  double Steepness(int64_t nearest) const override {
    return nearest == 0 ? 0 : steepest_;
  }

 private:
  const double largest_;
  const double steepest_;
  const CosineSum sum_;
  const double head_count_;
};

class Sandwich final : public SchemeFormula {
 public:
  Sandwich(int64_t width, double base) {
    for (int64_t k = 1; k <= width / 2; ++k) {
      frequencies_.push_back(std::pow(
          base, -2.0 * static_cast<double>(k) / static_cast<double>(width)));
    }
  }

  absl::StatusOr<CompiledScheme> Compile(
      const Geometry& geometry) const override {
    return std::make_unique<SandwichBias>(
        frequencies_,
        std::max<int64_t>(geometry.max_position - geometry.min_position, 0),
        geometry.head_count);
  }

 private:
  std::vector<double> frequencies_;
};

absl::StatusOr<std::unique_ptr<SchemeFormula>> Make(
    const Arguments& arguments) {
  const int64_t width = arguments.Integer("width");
  if (width % 2 != 0) {
    return InvalidField("width", absl::StrCat("is ", width, "; must be even"));
  }
  return std::make_unique<Sandwich>(width, arguments.Number("base"));
}

}  // namespace

SchemeInfo DescribeSandwich() {
  return {
      .name = "sandwich",
      .title = "Sandwich: inner products of sinusoidal codes",
      .site = Site::kScores,
      .parameters = {{.kind = ParameterKind::kInteger,
                      .name = "width",
                      .description = "of the codes, even; not the model's",
                      .default_number = 128,
                      .min = 2,
                      .max = 4096},
                     {.kind = ParameterKind::kNumber,
                      .name = "base",
                      .description =
                          "the longest wavelength is 2 pi times this",
                      .default_number = 10000,
                      .min = 1,
                      .max = 1e30}},
      .promises = {kNo, kYes, kYes, kNotApplicable, kNotApplicable,
                   kNotApplicable, kYes, kYes, kNo},
      .reference = "Chi et al., 2023, arXiv:2212.10356",
      .beyond_training = "The penalty levels off and stays within its bounds.",
      .is_raced = false,
      .make = Make,
  };
}

}  // namespace locus
