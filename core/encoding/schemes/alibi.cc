// ALiBi: attention with linear biases.
//
//   bias(h, i, j) = -m_h (i - j)      causal
//   bias(h, i, j) = -m_h |i - j|      symmetric
//
// Press et al., 2022, "Train Short, Test Long", section 3. For H heads, H a
// power of two, m_h = 2^(-bias_max h / H), h = 1 .. H. For other H, the slopes
// for the largest power of two below H are followed by every second slope for
// the next power of two. A second rule, m_h = 2^(-h), is common in course
// material and agrees for H = 8. The bias is added after the scores are scaled.
// Past the training length the penalty continues to grow, distant keys fade,
// and perplexity holds.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/status.h"
#include "core/encoding/scheme.h"

namespace locus {
namespace {

std::vector<double> PowerOfTwoSlopes(int64_t head_count, double bias_max) {
  std::vector<double> slopes(head_count);
  for (int64_t h = 0; h < head_count; ++h) {
    slopes[h] = std::exp2(-bias_max * static_cast<double>(h + 1) /
                          static_cast<double>(head_count));
  }
  return slopes;
}

std::vector<double> PaperSlopes(int64_t head_count, double bias_max) {
  int64_t power = 1;
  while (2 * power <= head_count) power *= 2;
  std::vector<double> slopes = PowerOfTwoSlopes(power, bias_max);
  const std::vector<double> finer = PowerOfTwoSlopes(2 * power, bias_max);
  for (int64_t i = 0; power + i < head_count; ++i) {
    slopes.push_back(finer[2 * i]);
  }
  return slopes;
}

std::vector<double> CourseSlopes(int64_t head_count) {
  std::vector<double> slopes(head_count);
  for (int64_t h = 0; h < head_count; ++h) {
    slopes[h] = std::exp2(-static_cast<double>(h + 1));
  }
  return slopes;
}

class AlibiBias final : public ScoreBias {
 public:
  AlibiBias(std::vector<double> slopes, bool symmetric)
      : slopes_(std::move(slopes)), symmetric_(symmetric) {}

  double At(int64_t head, int64_t query_position,
            int64_t key_position) const override {
    const int64_t offset = query_position - key_position;
    return -slopes_[head] *
           static_cast<double>(symmetric_ ? std::abs(offset) : offset);
  }
  bool is_bounded() const override { return false; }
  double Steepness(int64_t /*nearest*/) const override {
    double steepest = 0;
    for (const double slope : slopes_) {
      steepest = std::max(steepest, std::abs(slope));
    }
    return steepest;
  }
  // The sum is a geometric series.
  double LogTail(int64_t head, int64_t offset, int64_t count) const override {
    const double slope = slopes_[head];
    if (slope <= 0 || (offset < 0 && !symmetric_)) {
      return std::numeric_limits<double>::infinity();
    }
    return -slope * std::abs(static_cast<double>(offset)) +
           std::min(std::log(static_cast<double>(count)),
                    -std::log(-std::expm1(-slope)));
  }
  bool is_causal() const override { return !symmetric_; }
  absl::string_view causal_parameter() const override { return "symmetric"; }
  std::vector<double> slopes() const override { return slopes_; }

 private:
  const std::vector<double> slopes_;
  const bool symmetric_;
};

class Alibi final : public SchemeFormula {
 public:
  Alibi(bool symmetric, bool course_rule, double bias_max,
        std::vector<double> slopes)
      : symmetric_(symmetric),
        course_rule_(course_rule),
        bias_max_(bias_max),
        slopes_(std::move(slopes)) {}

  int64_t head_count() const override {
    return static_cast<int64_t>(slopes_.size());
  }

  absl::StatusOr<CompiledScheme> Compile(
      const Geometry& geometry) const override {
    if (!slopes_.empty() && head_count() != geometry.head_count) {
      return InvalidField(
          "slopes",
          absl::StrCat("has ", slopes_.size(), " values; the call has ",
                       geometry.head_count, " heads"));
    }
    return std::make_unique<AlibiBias>(SlopesFor(geometry.head_count),
                                       symmetric_);
  }

 private:
  std::vector<double> SlopesFor(int64_t head_count) const {
    if (!slopes_.empty()) return slopes_;
    return course_rule_ ? CourseSlopes(head_count)
                        : PaperSlopes(head_count, bias_max_);
  }

  const bool symmetric_;
  const bool course_rule_;
  const double bias_max_;
  const std::vector<double> slopes_;
};

absl::StatusOr<std::unique_ptr<SchemeFormula>> Make(
    const Arguments& arguments) {
  return std::make_unique<Alibi>(
      arguments.Flag("symmetric"), arguments.Choice("rule") == "COURSE",
      arguments.Number("bias_max"), arguments.Numbers("slopes"));
}

// A bidirectional model needs a bias on both sides of a query.
void ApplyTrainingDefaults(const TrainingSetting& setting,
                           Arguments* arguments) {
  if (!setting.causal) arguments->Set("symmetric", true);
}

}  // namespace

SchemeInfo DescribeAlibi() {
  return {
      .name = "alibi",
      .title = "Attention with linear biases",
      .site = Site::kScores,
      .parameters = {{.kind = ParameterKind::kFlag,
                      .name = "symmetric",
                      .description =
                          "penalise keys on both sides of a query; required "
                          "unless the call is causal"},
                     {.kind = ParameterKind::kChoice,
                      .name = "rule",
                      .description =
                          "rule that computes the slopes from the number of "
                          "heads",
                      .choices = {"PAPER", "COURSE"}},
                     {.kind = ParameterKind::kNumbers,
                      .name = "slopes",
                      .description = "one per head, instead of a rule"},
                     {.kind = ParameterKind::kNumber,
                      .name = "bias_max",
                      .description =
                          "negative exponent of the last slope with rule PAPER",
                      .default_number = 8,
                      .min = 0,
                      .max = 1000}},
      .promises = {kNo, kYes, kYes, kNotApplicable, kNotApplicable,
                   kNotApplicable, kNo, kYes, kYes, kYes, kYes, kYes, kYes},
      .reference = "Press et al., 2022, arXiv:2108.12409",
      .beyond_training =
          "The penalty goes on growing, distant keys fade, perplexity holds.",
      .make = Make,
      .apply_training_defaults = ApplyTrainingDefaults,
  };
}

}  // namespace locus
