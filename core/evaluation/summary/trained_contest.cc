#include "core/evaluation/summary/trained_contest.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/evaluation/summary/words.h"

namespace locus {
namespace {

class TrainedContest {
 public:
  TrainedContest(const SummaryQuestion& question,
                 const LearnedWhen& learned_when, const Results& results)
      : question_(question),
        metric_(learned_when.metric),
        more_is_better_(learned_when.more_is_better),
        threshold_(learned_when.threshold),
        results_(results) {}

  void Decide(EvaluationSummary* summary) {
    for (const std::string& scheme : question_.scheme_names) {
      PassGate(scheme, summary);
    }
    far_ = results_.FarthestCommon(passed_, question_.eval_lengths, metric_);
    seeds_ = results_.CommonSeeds(passed_, far_, metric_);
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
    // Stable, so that equals stay in the order asked for.
    std::stable_sort(
        passed_.begin(), passed_.end(),
        [&](const auto& a, const auto& b) { return IsBetter(Far(a), Far(b)); });
    summary->winner = passed_.front();
    summary->reason =
        absl::StrCat(Lead(), RunnerUp(), Broken(), NotLearned(), Unfinished());
  }

 private:
  bool IsBetter(double a, double b) const {
    return more_is_better_ ? a > b : a < b;
  }
  // Over the seeds that all schemes have.
  Values Common(const std::string& scheme, int64_t length) const {
    return Only(seeds_, results_.At(scheme, length, metric_));
  }
  double Far(const std::string& scheme) const {
    return IntervalOf(Common(scheme, far_)).mean;
  }
  double InRange(const std::string& scheme) const {
    return IntervalOf(Common(scheme, question_.train_length)).mean;
  }

  void PassGate(const std::string& scheme, EvaluationSummary* summary) {
    const Values& values = results_.At(scheme, question_.train_length, metric_);
    if (values.empty()) {
      unfinished_.push_back(scheme);
      return;
    }
    int64_t learned = 0;
    for (const auto& [seed, value] : values) {
      if (more_is_better_ ? value >= threshold_ : value <= threshold_) {
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
          scheme, " (", learned, " of ", Seeds(count), " reached ", metric_,
          more_is_better_ ? " >= " : " <= ", Short(threshold_), "; mean ",
          Short(IntervalOf(values).mean), ")"));
    }
  }

  std::string Lead() const {
    const std::string& winner = passed_.front();
    std::vector<std::string> equals;
    for (const std::string& scheme : passed_) {
      if (Far(scheme) == Far(winner)) equals.push_back(scheme);
    }
    std::string words = absl::StrCat(
        absl::StrJoin(equals, ", "),
        equals.size() > 1 ? " are equal and have the best " : " has the best ",
        metric_, " at length ", far_, ": ", Short(Far(winner)), " over ",
        Seeds(static_cast<int64_t>(seeds_.size())), LeftOutSeeds());
    if (equals.size() > 1) {
      absl::StrAppend(&words, "; ", winner, " was asked for first");
    }
    if (far_ == question_.train_length) {
      return absl::StrCat(words,
                          "; that is the training length, nothing longer was "
                          "finished by all schemes that learned the task.");
    }
    return absl::StrCat(words, ", against ", Short(InRange(winner)),
                        " in range, at length ", question_.train_length, ".");
  }

  // Of seeds that only some schemes finished.
  std::string LeftOutSeeds() const {
    const bool all =
        std::all_of(passed_.begin(), passed_.end(), [&](const auto& scheme) {
          return results_.At(scheme, far_, metric_).size() == seeds_.size();
        });
    return all ? "" : " (those that all schemes finished)";
  }

  std::string RunnerUp() const {
    if (passed_.size() < 2) return " No other scheme learned the task.";
    const std::string& winner = passed_[0];
    const std::string& second = passed_[1];
    const MeanInterval lead =
        IntervalOf(Difference(Common(winner, far_), Common(second, far_)));
    std::string words =
        absl::StrCat(" Second is ", second, " with ", Short(Far(second)),
                     "; the difference, seed by seed, is ", Short(lead.mean));
    if (lead.count == 1) {
      return absl::StrCat(words,
                          " over 1 seed, which gives no interval: the lead is "
                          "not certain.");
    }
    const bool excludes_zero = more_is_better_ ? lead.low > 0 : lead.high < 0;
    return absl::StrCat(
        words, ", 95 % interval ", Interval(lead), " over ", Seeds(lead.count),
        excludes_zero ? ", which excludes zero."
                      : ", which includes zero: the lead is not certain.");
  }

  std::string Broken() const {
    constexpr double kMuchWorse = 0.2;
    std::vector<std::string> broken;
    for (const std::string& scheme : passed_) {
      const double near = InRange(scheme);
      const double far = Far(scheme);
      const double loss = more_is_better_ ? near - far : far - near;
      if (loss <= kMuchWorse * std::abs(near)) continue;
      broken.push_back(
          absl::StrCat(scheme, " (", Short(near), " to ", Short(far), ")"));
    }
    if (broken.empty()) return "";
    return absl::StrCat(" Learned in range but much worse at length ", far_,
                        ": ", absl::StrJoin(broken, ", "), ".");
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

  const SummaryQuestion& question_;
  const std::string metric_;
  const bool more_is_better_;
  const double threshold_;
  const Results& results_;
  int64_t far_ = 0;
  SeedSet seeds_;  // that all who passed finished at far_
  std::vector<std::string> passed_;
  std::vector<std::string> not_learned_;
  std::vector<std::string> unfinished_;
};

}  // namespace

void DecideTrained(const SummaryQuestion& question,
                   const LearnedWhen& learned_when, const Results& results,
                   EvaluationSummary* summary) {
  TrainedContest(question, learned_when, results).Decide(summary);
}

}  // namespace locus
