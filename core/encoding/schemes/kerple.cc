// KERPLE: kernelized relative positional embedding.
//
//   bias(h, i, j) = -p_h ln(1 + a_h |i - j|)      logarithmic
//   bias(h, i, j) = -a_h |i - j|^(p_h)            power, p_h <= 2
//
// Chi et al., 2022, "KERPLE", equations 5 and 6, with p and a learned for each
// head and kept at 0.01 or above, as its published code does. Unless they are
// given, p is drawn from [0.01, 2) and a from [0.01, 1). The bias goes on
// falling past the training length, the logarithmic one ever more slowly.
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

constexpr double kLeast = 0.01;
constexpr double kMaxPower = 2;

constexpr double kLargest = 1e6;

// A number within bounds. One that training drives across a bound is mirrored
// there: at a bound that merely stops it, it would have no gradient to leave.
struct Bounded {
  double value;
  double slope;
};
Bounded Kept(double number, double max) {
  Bounded kept{number, 1};
  if (kept.value < kLeast) kept = {2 * kLeast - number, -1};
  if (kept.value > max) kept = {2 * max - kept.value, -kept.slope};
  if (kept.value < kLeast) kept = {kLeast, 0};
  return kept;
}

struct KerpleShape {
  bool power;
  bool symmetric;
};

class KerpleBias final : public ScoreBias {
 public:
  // numbers: p of all heads, then a of all heads.
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
  // Both sides are alike: what the first has, the second takes from there.
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
  bool is_small() const override { return false; }
  // Logarithms and roots are steepest at the start, powers at the far end.
  double Steepness(int64_t nearest) const override {
    double steepest = 0;
    if (nearest == 0) return steepest;
    const double far = static_cast<double>(nearest);
    for (int64_t h = 0; h < head_count_; ++h) {
      const double step =
          !shape_.power ? P(h) * std::log1p(A(h))
                        : A(h) * std::max(1.0, P(h) * std::pow(far, P(h) - 1));
      steepest = std::max(steepest, step);
    }
    return steepest;
  }
  // Never more than so many times the nearest. Where the bias falls fast
  // enough, what follows it sums up: to an integral of (1 + a x)^-p for p > 1,
  // to a geometric series of the first step for powers from 1 on.
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
    d_numbers[head] += d_p * Kept(numbers_[head], MaxP()).slope;
    d_numbers[head_count_ + head] +=
        d_a * Kept(numbers_[head_count_ + head], kLargest).slope;
  }

 private:
  double Kernel(double p, double a, double distance) const {
    return shape_.power ? -a * std::pow(distance, p)
                        : -p * std::log1p(a * distance);
  }
  static double Distance(int64_t query_position, int64_t key_position) {
    return std::abs(static_cast<double>(query_position - key_position));
  }
  double MaxP() const { return shape_.power ? kMaxPower : kLargest; }
  double P(int64_t head) const { return Kept(numbers_[head], MaxP()).value; }
  double A(int64_t head) const {
    return Kept(numbers_[head_count_ + head], kLargest).value;
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
      value = kLeast + (end - kLeast) * stream.Uniform();
    }
    return drawn;
  }

  const KerpleShape shape_;
  const std::vector<double> p_;
  const std::vector<double> a_;
  const uint64_t seed_;
};

// What the declaration cannot say, since it depends on the kernel.
absl::Status CheckPowers(const std::vector<double>& p) {
  for (size_t h = 0; h < p.size(); ++h) {
    if (p[h] <= kMaxPower) continue;
    return InvalidField(absl::StrCat("p[", h, "]"),
                        absl::StrCat("is ", p[h], "; must be from ", kLeast,
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

// A model that looks both ways has distances on both sides.
void Suit(const TrainingSetting& setting, Arguments* arguments) {
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
                      .description = "how the bias follows from the distance",
                      .choices = {"LOG", "POWER"}},
                     {.kind = ParameterKind::kNumbers,
                      .name = "p",
                      .description = "one for each head; at most 2 for POWER",
                      .min = kLeast,
                      .max = kLargest},
                     {.kind = ParameterKind::kNumbers,
                      .name = "a",
                      .description = "one for each head",
                      .min = kLeast,
                      .max = kLargest},
                     {.kind = ParameterKind::kFlag,
                      .name = "symmetric",
                      .description =
                          "penalise both sides; for calls that are not causal"},
                     {.kind = ParameterKind::kSeed,
                      .name = "seed",
                      .description = "draws p and a where they are not given"}},
      .promises = {kNo, kYes, kYes, kNotApplicable, kNotApplicable,
                   kNotApplicable, kNo, kYes, kYes},
      .reference = "Chi et al., 2022, arXiv:2205.09921",
      .beyond_training =
          "The penalty goes on growing, ever more slowly if "
          "logarithmic.",
      .is_raced = false,
      .make = Make,
      .suit = Suit,
  };
}

}  // namespace locus
