// Sandwich.
//
//   bias(h, i, j) = H / (8 h) (S(i - j) - D / 2)
//   S(n) = sum_{k=1}^{D/2} cos(n base^(-2k / D))
//
// Chi et al., 2023, "Dissecting Transformer Length Extrapolation via the Lens
// of Receptive Field Analysis", section 5. The bias is the inner product of two
// sinusoidal codes, scaled for heads h = 1 .. H. The width D of the codes is a
// parameter of the scheme. Nothing is learned. Past the training length the
// bias levels off and stays bounded.
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

// Sums of cosines are cached for distances below this and computed on demand
// beyond it.
constexpr int64_t kMaxCached = int64_t{1} << 18;

// The part of the bias that all heads share: the sum of cosines minus its value
// at distance 0.
class CosineSum {
 public:
  CosineSum(std::vector<double> frequencies, int64_t max_distance)
      : frequencies_(std::move(frequencies)) {
    if (max_distance >= kMaxCached) return;
    cached_.resize(max_distance + 1);
    constexpr int64_t kRows = 64;
    const auto pairs = static_cast<int64_t>(frequencies_.size());
    std::vector<double> sines(kRows * pairs);
    std::vector<double> cosines(kRows * pairs);
    const Positions distances = *Positions::Range(0, max_distance + 1);
    for (int64_t first = 0; first <= max_distance; first += kRows) {
      const int64_t count = std::min(kRows, max_distance + 1 - first);
      FillAngles<double>({.frequencies = frequencies_,
                          .sin = sines.data(),
                          .cos = cosines.data(),
                          .stride = pairs},
                         distances, first, count);
      for (int64_t n = 0; n < count; ++n) {
        cached_[first + n] = Sum(cosines.data() + n * pairs);
      }
    }
  }

  double At(int64_t distance) const {
    if (distance < static_cast<int64_t>(cached_.size()))
      return cached_[distance];
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
  std::vector<double> cached_;
};

class SandwichBias final : public ScoreBias {
 public:
  SandwichBias(std::vector<double> frequencies, int64_t max_distance,
               int64_t head_count)
      : largest_(2 * static_cast<double>(frequencies.size()) *
                 static_cast<double>(head_count) / 8),
        steepest_(absl::c_accumulate(frequencies, 0.0) *
                  static_cast<double>(head_count) / 8),
        sum_(std::move(frequencies), max_distance),
        head_count_(static_cast<double>(head_count)) {}

  double At(int64_t head, int64_t query_position,
            int64_t key_position) const override {
    return sum_.At(std::abs(query_position - key_position)) * head_count_ /
           (8 * static_cast<double>(head + 1));
  }
  bool is_bounded() const override { return largest_ <= 128; }
  // The cosines are largest at distance 0, and their slopes are bounded by the
  // frequencies.
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
                      .description = "width of the sinusoidal codes, even; "
                                     "independent of the model's width",
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
                   kNotApplicable, kYes, kYes, kNo, kYes, kYes, kYes, kYes},
      .reference = "Chi et al., 2023, arXiv:2212.10356",
      .beyond_training = "The penalty levels off and stays within its bounds.",
      .in_default_evaluation = false,
      .make = Make,
  };
}

}  // namespace locus
