// KERPLE: kernelized relative positional embedding.
//
//   bias(h, i, j) = -p_h ln(1 + a_h |i - j|)      logarithmic
//   bias(h, i, j) = -a_h |i - j|^(p_h)            power, p_h <= 2
//
// Chi et al., 2022, "KERPLE", equations 5 and 6. p and a are learned per head
// and are at least 0.01, as in the published code. If they are not given, p is
// drawn from [0.01, 2) and a from [0.01, 1). Past the training length the
// penalty continues to grow, ever more slowly with the logarithmic kernel.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/random.h"
#include "core/base/status.h"
#include "core/encoding/scheme.h"

namespace locus {
namespace {

// Range of p and a. p of the power kernel is at most kMaxPower.
constexpr double kMinNumber = 0.01;
constexpr double kMaxNumber = 1e6;
constexpr double kMaxPower = 2;

// A number mapped into its range, and the derivative of the mapping.
struct Reflected {
  double value;
  double slope;
};
// Maps a number into [kMinNumber, max] by reflection at the bounds. Training
// can move a number across a bound; with clamping instead, its gradient would
// then be zero and it could not return.
Reflected Reflect(double number, double max) {
  Reflected result{number, 1};
  if (result.value < kMinNumber) result = {2 * kMinNumber - number, -1};
  if (result.value > max) result = {2 * max - result.value, -result.slope};
  if (result.value < kMinNumber) result = {kMinNumber, 0};
  return result;
}

struct KerpleShape {
  bool power;
  bool symmetric;
};

class KerpleBias final : public ScoreBias {
 public:
  // numbers: p of all heads, followed by a of all heads.
  KerpleBias(const KerpleShape& shape, int64_t head_count,
             std::vector<double> numbers, bool trainable)
      : shape_(shape),
        trainable_(trainable),
        head_count_(head_count),
        numbers_(std::move(numbers)) {}

  double At(int64_t head, int64_t query_position,
            int64_t key_position) const override {
    return Kernel(P(head), A(head), Distance(query_position, key_position));
  }
  // The bias is symmetric: positive offsets are copied from their negatives
  // where those are in the range.
  void Offsets(int64_t head, int64_t first, int64_t count,
               double* values) const override {
    const double p = P(head);
    const double a = A(head);
    for (int64_t n = 0; n < count; ++n) {
      const int64_t offset = first + n;
      values[n] = offset > 0 && -offset >= first
                      ? values[-offset - first]
                      : Kernel(p, a, Distance(offset, 0));
    }
  }
  bool is_bounded() const override { return false; }
  // The logarithm and powers below 1 are steepest at distance 0, powers above 1
  // at the largest distance.
  double Steepness(int64_t nearest) const override {
    double steepest = 0;
    if (nearest == 0) return steepest;
    const double distance = static_cast<double>(nearest);
    for (int64_t h = 0; h < head_count_; ++h) {
      const double step =
          !shape_.power
              ? P(h) * std::log1p(A(h))
              : A(h) * std::max(1.0, P(h) * std::pow(distance, P(h) - 1));
      steepest = std::max(steepest, step);
    }
    return steepest;
  }
  // The sum is at most `count` times the weight of the nearest key. Where the
  // bias falls fast enough there is a tighter bound: an integral of (1 + a
  // x)^-p for the logarithmic kernel with p > 1, and a geometric series with
  // the ratio of the first step for the power kernel with p >= 1.
  double LogTail(int64_t head, int64_t offset, int64_t count) const override {
    const double distance = std::abs(static_cast<double>(offset));
    const double p = P(head);
    const double a = A(head);
    double times = std::log(static_cast<double>(count));
    if (!shape_.power && p > 1) {
      times = std::min(times, std::log1p((1 + a * distance) / (a * (p - 1))));
    } else if (shape_.power && p >= 1) {
      const double step = a * p * std::pow(distance, p - 1);
      times = std::min(times, -std::log(-std::expm1(-step)));
    }
    return At(head, std::abs(offset), 0) + times;
  }
  bool is_causal() const override { return !shape_.symmetric; }
  absl::string_view causal_parameter() const override { return "symmetric"; }
  std::vector<HeadNumbers> head_numbers() const override {
    HeadNumbers p{"p", {}};
    HeadNumbers a{"a", {}};
    for (int64_t h = 0; h < head_count_; ++h) {
      p.values.push_back(P(h));
      a.values.push_back(A(h));
    }
    return {p, a};
  }

  absl::Span<double> parameters() override {
    return trainable_ ? absl::MakeSpan(numbers_) : absl::Span<double>();
  }
  void Backward(int64_t head, int64_t query_position, int64_t key_position,
                double d_bias, absl::Span<double> d_numbers) const override {
    const double distance = Distance(query_position, key_position);
    if (distance == 0) return;
    const double p = P(head);
    const double a = A(head);
    double d_p = 0;
    double d_a = 0;
    if (shape_.power) {
      const double power = std::pow(distance, p);
      d_p = -d_bias * a * power * std::log(distance);
      d_a = -d_bias * power;
    } else {
      d_p = -d_bias * std::log1p(a * distance);
      d_a = -d_bias * p * distance / (1 + a * distance);
    }
    d_numbers[head] += d_p * Reflect(numbers_[head], MaxP()).slope;
    d_numbers[head_count_ + head] +=
        d_a * Reflect(numbers_[head_count_ + head], kMaxNumber).slope;
  }

 private:
  double Kernel(double p, double a, double distance) const {
    return shape_.power ? -a * std::pow(distance, p)
                        : -p * std::log1p(a * distance);
  }
  static double Distance(int64_t query_position, int64_t key_position) {
    return std::abs(static_cast<double>(query_position - key_position));
  }
  double MaxP() const { return shape_.power ? kMaxPower : kMaxNumber; }
  double P(int64_t head) const { return Reflect(numbers_[head], MaxP()).value; }
  double A(int64_t head) const {
    return Reflect(numbers_[head_count_ + head], kMaxNumber).value;
  }

  const KerpleShape shape_;
  const bool trainable_;
  const int64_t head_count_;
  std::vector<double> numbers_;
};

class Kerple final : public SchemeFormula {
 public:
  // Empty lists are drawn from the seed for the heads of the call.
  Kerple(const KerpleShape& shape, std::vector<double> p, std::vector<double> a,
         uint64_t seed)
      : shape_(shape), p_(std::move(p)), a_(std::move(a)), seed_(seed) {}

  int64_t head_count() const override {
    return static_cast<int64_t>(std::max(p_.size(), a_.size()));
  }

  absl::StatusOr<CompiledScheme> Compile(
      const Geometry& geometry) const override {
    const int64_t heads = geometry.head_count;
    if (head_count() != 0 && head_count() != heads) {
      return InvalidField(
          p_.empty() ? "a" : "p",
          absl::StrCat("has ", head_count(), " values; the call has ", heads,
                       " heads"));
    }
    std::vector<double> numbers = p_.empty() ? Drawn(heads, "kerple.p", 2) : p_;
    const std::vector<double> a = a_.empty() ? Drawn(heads, "kerple.a", 1) : a_;
    numbers.insert(numbers.end(), a.begin(), a.end());
    return std::make_unique<KerpleBias>(shape_, heads, std::move(numbers),
                                        geometry.trainable);
  }

 private:
  std::vector<double> Drawn(int64_t count, absl::string_view purpose,
                            double end) const {
    std::vector<double> drawn(count);
    RandomStream stream(seed_, purpose);
    for (double& value : drawn) {
      value = kMinNumber + (end - kMinNumber) * stream.Uniform();
    }
    return drawn;
  }

  const KerpleShape shape_;
  const std::vector<double> p_;
  const std::vector<double> a_;
  const uint64_t seed_;
};

// Checks the range of p for the power kernel, which the declaration of the
// parameter cannot express.
absl::Status CheckPowers(const std::vector<double>& p) {
  for (size_t h = 0; h < p.size(); ++h) {
    if (p[h] <= kMaxPower) continue;
    return InvalidField(absl::StrCat("p[", h, "]"),
                        absl::StrCat("is ", p[h], "; must be from ", kMinNumber,
                                     " to ", kMaxPower, " for POWER"));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<SchemeFormula>> Make(
    const Arguments& arguments) {
  const KerpleShape shape{.power = arguments.Choice("kernel") == "POWER",
                          .symmetric = arguments.Flag("symmetric")};
  const std::vector<double>& p = arguments.Numbers("p");
  const std::vector<double>& a = arguments.Numbers("a");
  if (shape.power) LOCUS_RETURN_IF_ERROR(CheckPowers(p));
  if (!p.empty() && !a.empty() && p.size() != a.size()) {
    return InvalidField(
        "a", absl::StrCat("has ", a.size(), " values; p has ", p.size()));
  }
  return std::make_unique<Kerple>(shape, p, a, arguments.Seed("seed"));
}

// A bidirectional model needs a bias on both sides of a query.
void ApplyTrainingDefaults(const TrainingSetting& setting,
                           Arguments* arguments) {
  if (!setting.causal) arguments->Set("symmetric", true);
}

}  // namespace

SchemeInfo DescribeKerple() {
  return {
      .name = "kerple",
      .title = "Kernelized relative positional embedding (KERPLE)",
      .site = Site::kScores,
      .parameters = {{.kind = ParameterKind::kChoice,
                      .name = "kernel",
                      .description =
                          "shape of the bias as a function of distance",
                      .choices = {"LOG", "POWER"}},
                     {.kind = ParameterKind::kNumbers,
                      .name = "p",
                      .description = "one per head; at most 2 for POWER",
                      .min = kMinNumber,
                      .max = kMaxNumber},
                     {.kind = ParameterKind::kNumbers,
                      .name = "a",
                      .description = "one per head",
                      .min = kMinNumber,
                      .max = kMaxNumber},
                     {.kind = ParameterKind::kFlag,
                      .name = "symmetric",
                      .description =
                          "penalise keys on both sides of a query; required "
                          "unless the call is causal"},
                     {.kind = ParameterKind::kSeed,
                      .name = "seed",
                      .description = "seed of p and a if they are not given"}},
      .promises = {kNo, kYes, kYes, kNotApplicable, kNotApplicable,
                   kNotApplicable, kNo, kYes, kYes, kYes, kYes, kYes, kYes},
      .reference = "Chi et al., 2022, arXiv:2205.09921",
      .beyond_training =
          "The penalty goes on growing, ever more slowly if "
          "logarithmic.",
      .in_default_evaluation = false,
      .make = Make,
      .apply_training_defaults = ApplyTrainingDefaults,
  };
}

}  // namespace locus
