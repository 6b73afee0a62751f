#include "core/evaluation/summary/trained_ranking.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/evaluation/summary/format.h"

namespace locus {
namespace {

// Decides the winner of one evaluation and explains it.
class TrainedRanking {
 public:
  TrainedRanking(const SummarySpec& spec, const LearnedCriterion& criterion,
                 const CellTable& table)
      : spec_(spec),
        metric_(criterion.metric),
        higher_is_better_(criterion.higher_is_better),
        threshold_(criterion.threshold),
        table_(table) {}

  void Decide(EvaluationSummary* summary) {
    for (const std::string& scheme : spec_.scheme_names) {
      ApplyGate(scheme, summary);
    }
    far_length_ =
        table_.LongestCommonLength(passed_, spec_.eval_lengths, metric_);
    seeds_ = table_.CommonSeeds(passed_, far_length_, metric_);
    if (seeds_.empty()) {
      summary->reason = absl::StrCat(
          passed_.empty()
              ? "No winner: no scheme learned the task in range."
              : absl::StrCat("No winner: the schemes that learned the task (",
                             absl::StrJoin(passed_, ", "),
                             ") have no finished seed in common."),
          NotLearned(), Unfinished());
      return;
    }
    // The sort is stable, so that ties stay in the order of the request.
    std::stable_sort(
        passed_.begin(), passed_.end(),
        [&](const auto& a, const auto& b) { return IsBetter(Far(a), Far(b)); });
    summary->winner = passed_.front();
    summary->reason = absl::StrCat(DescribeWinner(), RunnerUp(), Broken(),
                                   NotLearned(), Unfinished());
  }

 private:
  bool IsBetter(double a, double b) const {
    return higher_is_better_ ? a > b : a < b;
  }
  // Values of the common seeds.
  SeedValues Common(const std::string& scheme, int64_t length) const {
    return RestrictTo(seeds_, table_.At(scheme, length, metric_));
  }
  double Far(const std::string& scheme) const {
    return IntervalOf(Common(scheme, far_length_)).mean;
  }
  double InRange(const std::string& scheme) const {
    return IntervalOf(Common(scheme, spec_.train_length)).mean;
  }

  // Adds the gate of a scheme to the summary, and sorts the scheme into
  // passed_, not_learned_ or unfinished_.
  void ApplyGate(const std::string& scheme, EvaluationSummary* summary) {
    const SeedValues& values = table_.At(scheme, spec_.train_length, metric_);
    if (values.empty()) {
      unfinished_.push_back(scheme);
      return;
    }
    int64_t learned = 0;
    for (const auto& [seed, value] : values) {
      if (higher_is_better_ ? value >= threshold_ : value <= threshold_) {
        ++learned;
      }
    }
    const auto count = static_cast<int64_t>(values.size());
    const bool passed = 2 * learned >= count;
    summary->gates.push_back(
        {scheme, metric_, threshold_,
         static_cast<double>(learned) / static_cast<double>(count), passed});
    if (passed) {
      passed_.push_back(scheme);
    } else {
      not_learned_.push_back(absl::StrCat(
          scheme, " (", learned, " of ", FormatSeeds(count), " reached ",
          metric_, higher_is_better_ ? " >= " : " <= ", FormatValue(threshold_),
          "; mean ", FormatValue(IntervalOf(values).mean), ")"));
    }
  }

  std::string DescribeWinner() const {
    const std::string& winner = passed_.front();
    std::vector<std::string> equals;
    for (const std::string& scheme : passed_) {
      if (Far(scheme) == Far(winner)) equals.push_back(scheme);
    }
    std::string text = absl::StrCat(
        absl::StrJoin(equals, ", "),
        equals.size() > 1 ? " are equal and have the best " : " has the best ",
        metric_, " at length ", far_length_, ": ", FormatValue(Far(winner)),
        " over ", FormatSeeds(static_cast<int64_t>(seeds_.size())),
        SeedsNote());
    if (equals.size() > 1) {
      absl::StrAppend(&text, "; ", winner, " was requested first");
    }
    if (far_length_ == spec_.train_length) {
      return absl::StrCat(text,
                          "; that is the training length, nothing longer was "
                          "finished by all schemes that learned the task.");
    }
    return absl::StrCat(text, ", against ", FormatValue(InRange(winner)),
                        " in range, at length ", spec_.train_length, ".");
  }

  // Note that is added if some schemes finished seeds that others did not.
  std::string SeedsNote() const {
    const bool all =
        std::all_of(passed_.begin(), passed_.end(), [&](const auto& scheme) {
          return table_.At(scheme, far_length_, metric_).size() ==
                 seeds_.size();
        });
    return all ? "" : " (those that all schemes finished)";
  }

  std::string RunnerUp() const {
    if (passed_.size() < 2) return " No other scheme learned the task.";
    const std::string& winner = passed_[0];
    const std::string& second = passed_[1];
    const MeanInterval lead = IntervalOf(PairedDifference(
        Common(winner, far_length_), Common(second, far_length_)));
    std::string text = absl::StrCat(
        " Second is ", second, " with ", FormatValue(Far(second)),
        "; the difference, seed by seed, is ", FormatValue(lead.mean));
    if (lead.count == 1) {
      return absl::StrCat(text,
                          " over 1 seed, which gives no interval: the lead is "
                          "not certain.");
    }
    const bool excludes_zero = higher_is_better_ ? lead.low > 0 : lead.high < 0;
    return absl::StrCat(
        text, ", 95 % interval ", FormatInterval(lead), " over ",
        FormatSeeds(lead.count),
        excludes_zero ? ", which excludes zero."
                      : ", which includes zero: the lead is not certain.");
  }

  std::string Broken() const {
    constexpr double kMuchWorse = 0.2;
    std::vector<std::string> broken;
    for (const std::string& scheme : passed_) {
      const double near = InRange(scheme);
      const double far = Far(scheme);
      const double loss = higher_is_better_ ? near - far : far - near;
      if (loss <= kMuchWorse * std::abs(near)) continue;
      broken.push_back(absl::StrCat(scheme, " (", FormatValue(near), " to ",
                                    FormatValue(far), ")"));
    }
    if (broken.empty()) return "";
    return absl::StrCat(" Learned in range but much worse at length ",
                        far_length_, ": ", absl::StrJoin(broken, ", "), ".");
  }

  std::string NotLearned() const {
    if (not_learned_.empty()) return "";
    return absl::StrCat(" Did not learn in range and not compared: ",
                        absl::StrJoin(not_learned_, ", "), ".");
  }

  std::string Unfinished() const {
    if (unfinished_.empty()) return "";
    return absl::StrCat(" Not finished in range and not compared: ",
                        absl::StrJoin(unfinished_, ", "), ".");
  }

  const SummarySpec& spec_;
  const std::string metric_;
  const bool higher_is_better_;
  const double threshold_;
  const CellTable& table_;
  int64_t far_length_ = 0;
  SeedSet seeds_;  // finished at far_length_ by all schemes that passed
  std::vector<std::string> passed_;
  std::vector<std::string> not_learned_;
  std::vector<std::string> unfinished_;
};

}  // namespace

void DecideTrainedWinner(const SummarySpec& spec,
                         const LearnedCriterion& criterion,
                         const CellTable& table, EvaluationSummary* summary) {
  TrainedRanking(spec, criterion, table).Decide(summary);
}

}  // namespace locus
