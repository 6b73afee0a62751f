#include "core/evaluation/summary/trained_verdict.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/evaluation/summary/format.h"
#include "core/evaluation/summary/gates.h"

namespace locus {
namespace {

// More steps for a task that was not learned.
int64_t MoreSteps(int64_t step_count) {
  constexpr int64_t kMaxSteps = 1'000'000;
  return std::min(kMaxSteps, step_count * (step_count < 1000 ? 10 : 3));
}

int64_t MoreSeeds(int64_t seed_count) {
  constexpr int64_t kMaxSeeds = 64;
  return std::min(kMaxSeeds, std::max<int64_t>(3, 2 * seed_count));
}

// Finds the verdict of one evaluation.
class Judge {
 public:
  Judge(const SummarySpec& spec, const LearnedCriterion& criterion,
        const CellTable& table, const std::vector<EvaluationGate>& gates)
      : spec_(spec),
        criterion_(criterion),
        metric_(criterion.metric),
        metric_text_(FormatMetric(criterion.metric)),
        table_(table) {
    for (const std::string& scheme : spec.scheme_names) {
      if (HasPassed(gates, scheme)) {
        passed_.push_back(scheme);
      } else if (table.At(scheme, spec.train_length, metric_).empty()) {
        unfinished_.push_back(scheme);
      } else {
        not_learned_.push_back(scheme);
      }
    }
    far_length_ =
        table_.LongestCommonLength(passed_, spec_.eval_lengths, metric_);
    seeds_ = table_.CommonSeeds(passed_, far_length_, metric_);
    // The sort is stable, so that ties stay in the order of the request.
    std::stable_sort(passed_.begin(), passed_.end(),
                     [&](const auto& a, const auto& b) {
                       return criterion_.IsBetter(Far(a).mean, Far(b).mean);
                     });
  }

  EvaluationVerdict Decide() const {
    if (passed_.empty()) return NotLearned();
    if (seeds_.empty()) return NoCommonSeed();
    if (seeds_.size() == 1) return OneSeed();
    if (std::none_of(passed_.begin(), passed_.end(), [&](const auto& scheme) {
          return BeatsChance(Far(scheme));
        })) {
      return AtChance();
    }
    if (passed_.size() == 1) return NoComparison();
    if (!BeatsChance(Far(passed_[0]))) return UncertainAgainstChance();
    const MeanInterval lead = Lead();
    const bool excludes_zero =
        criterion_.higher_is_better ? lead.low > 0 : lead.high < 0;
    return excludes_zero ? Winner(lead) : UncertainLead(lead);
  }

 private:
  // Values of the common seeds at the longest length, and at the training
  // length.
  MeanInterval Far(const std::string& scheme) const {
    return IntervalOf(
        RestrictTo(seeds_, table_.At(scheme, far_length_, metric_)));
  }
  double InRange(const std::string& scheme) const {
    return IntervalOf(RestrictTo(seeds_, table_.At(scheme, spec_.train_length,
                                                   metric_)))
        .mean;
  }
  // Paired difference of the best scheme to the second.
  MeanInterval Lead() const {
    return IntervalOf(RestrictTo(
        seeds_, PairedDifference(table_.At(passed_[0], far_length_, metric_),
                                 table_.At(passed_[1], far_length_, metric_))));
  }
  bool BeatsChance(const MeanInterval& interval) const {
    return interval.count > 1 &&
           criterion_.IsBetter(
               criterion_.higher_is_better ? interval.low : interval.high,
               criterion_.chance);
  }

  EvaluationVerdict NotLearned() const {
    EvaluationVerdict verdict{.kind = VerdictKind::kNotLearned};
    if (not_learned_.empty()) {
      verdict.text = absl::StrCat("No winner: no scheme was measured at the ",
                                  "training length ", spec_.train_length, ".");
      return verdict;
    }
    const auto in_range = [&](const std::string& scheme) {
      return IntervalOf(table_.At(scheme, spec_.train_length, metric_)).mean;
    };
    const auto best =
        std::max_element(not_learned_.begin(), not_learned_.end(),
                         [&](const auto& a, const auto& b) {
                           return criterion_.IsBetter(in_range(b), in_range(a));
                         });
    const bool one = not_learned_.size() == 1;
    verdict.text = absl::StrCat(
        "No winner: ", one ? *best : "none",
        one ? " did not reach " : " reached ", metric_text_, " ",
        FormatValue(criterion_.threshold), " at length ", spec_.train_length,
        " in ", spec_.step_count, " steps; ",
        one ? "it reached " : absl::StrCat("the best, ", *best, ", reached "),
        FormatValue(in_range(*best)), ".", Unfinished());
    verdict.next_step = absl::StrCat(
        "Try --steps ", MoreSteps(spec_.step_count),
        criterion_.higher_is_better ? " or a shorter --train-length." : ".");
    return verdict;
  }

  EvaluationVerdict NoCommonSeed() const {
    return {.kind = VerdictKind::kNoComparison,
            .text = absl::StrCat("No winner: the schemes that learned the task "
                                 "(",
                                 FormatNames(passed_),
                                 ") have no finished seed in common.",
                                 NotCompared())};
  }

  EvaluationVerdict OneSeed() const {
    return {.kind = VerdictKind::kOneSeed,
            .text = absl::StrCat(
                "Best of one seed, not a result: ", passed_.front(), " with ",
                metric_text_, " ", FormatValue(Far(passed_.front()).mean),
                " at length ", far_length_, ", ", AgainstChance(), ".",
                NotCompared()),
            .next_step = "Run --seeds 3 for a result."};
  }

  EvaluationVerdict AtChance() const {
    EvaluationVerdict verdict{.kind = VerdictKind::kAtChance};
    for (size_t n = spec_.eval_lengths.size(); n-- > 0;) {
      const int64_t length = spec_.eval_lengths[n];
      const std::string best = BestAbove(length);
      if (best.empty()) continue;
      verdict.text = absl::StrCat(
          "No winner beyond ", length, " tokens: nothing beats ", Chance(),
          ". Longest length at which a scheme does: ", length, " (", best, ").",
          NotCompared());
      if (n + 1 < spec_.eval_lengths.size()) {
        verdict.next_step = LengthsBetween(length, spec_.eval_lengths[n + 1]);
      }
      return verdict;
    }
    verdict.text =
        absl::StrCat("No winner: nothing beats ", Chance(),
                     " at any length with 95 % confidence.", NotCompared());
    verdict.next_step =
        absl::StrCat("Try --seeds ", MoreSeeds(spec_.seed_count),
                     " or --steps ", MoreSteps(spec_.step_count), ".");
    return verdict;
  }

  // The best scheme at a length whose interval beats chance, with its mean;
  // empty if there is none.
  std::string BestAbove(int64_t length) const {
    std::string best;
    double best_mean = 0;
    for (const std::string& scheme : passed_) {
      const MeanInterval interval =
          IntervalOf(table_.At(scheme, length, metric_));
      if (!BeatsChance(interval)) continue;
      if (!best.empty() && !criterion_.IsBetter(interval.mean, best_mean)) {
        continue;
      }
      best = scheme;
      best_mean = interval.mean;
    }
    return best.empty() ? "" : absl::StrCat(best, " ", FormatValue(best_mean));
  }

  // Suggests lengths between the longest one that works and the next one.
  static std::string LengthsBetween(int64_t works, int64_t fails) {
    std::vector<int64_t> lengths;
    for (int64_t quarter = 0; quarter <= 4; ++quarter) {
      const int64_t length = works + quarter * (fails - works) / 4;
      if (lengths.empty() || lengths.back() < length) lengths.push_back(length);
    }
    if (lengths.size() < 3) return "";
    return absl::StrCat("To see where each scheme stops, try --eval-lengths ",
                        absl::StrJoin(lengths, ","), ".");
  }

  EvaluationVerdict NoComparison() const {
    const bool only = spec_.scheme_names.size() == 1;
    return {.kind = VerdictKind::kNoComparison,
            .text = absl::StrCat("Only ", passed_.front(),
                                 only ? " was evaluated" : " learned the task",
                                 ", so there is nothing to compare. ",
                                 AtFarLength(), NotCompared()),
            .next_step = only ? "Add another --scheme." : ""};
  }

  EvaluationVerdict UncertainAgainstChance() const {
    return {.kind = VerdictKind::kNoClearWinner,
            .text = absl::StrCat("No clear winner at length ", far_length_,
                                 ": ", passed_[0],
                                 " has the best mean, but its 95 % interval ",
                                 FormatInterval(Far(passed_[0])), " includes ",
                                 Chance(), ".", NotCompared()),
            .next_step = SuggestSeeds()};
  }

  EvaluationVerdict UncertainLead(const MeanInterval& lead) const {
    EvaluationVerdict verdict{.kind = VerdictKind::kNoClearWinner};
    const bool equal = lead.low == 0 && lead.high == 0;
    verdict.text = absl::StrCat(
        "No clear winner at length ", far_length_, ": ", passed_[0], " has ",
        metric_text_, " ", FormatValue(Far(passed_[0]).mean), " and ",
        passed_[1], " ", FormatValue(Far(passed_[1]).mean), "; ",
        equal ? "they are equal for every seed."
              : absl::StrCat("the paired difference is ",
                             FormatValue(lead.mean), ", 95 % interval ",
                             FormatInterval(lead), ", which includes zero."),
        MuchWorse(), NotCompared());
    verdict.next_step = equal
                            ? absl::StrCat("Test lengths beyond ", far_length_,
                                           " with --eval-lengths.")
                            : SuggestSeeds();
    return verdict;
  }

  EvaluationVerdict Winner(const MeanInterval& lead) const {
    const std::string& second = passed_[1];
    return {.kind = VerdictKind::kWinner,
            .winner = passed_[0],
            .text = absl::StrCat(AtFarLength(), " Second is ", second, " with ",
                                 FormatValue(Far(second).mean),
                                 "; the paired difference is ",
                                 FormatValue(lead.mean), ", 95 % interval ",
                                 FormatInterval(lead), ", which excludes zero.",
                                 MuchWorse(), NotCompared())};
  }

  // Describes the best scheme at the longest length.
  std::string AtFarLength() const {
    const std::string& best = passed_.front();
    const MeanInterval far = Far(best);
    std::string text = absl::StrCat(
        best, " has ", metric_text_, " ", FormatValue(far.mean), " at length ",
        far_length_, ", 95 % interval ", FormatInterval(far), " over ",
        FormatSeeds(far.count), SeedsNote(), ", ", AgainstChance());
    if (far_length_ == spec_.train_length) {
      return absl::StrCat(text,
                          "; nothing longer than the training length was "
                          "compared.");
    }
    return absl::StrCat(text, " and ", FormatValue(InRange(best)),
                        " at the training length ", spec_.train_length, ".");
  }

  // The chance level, such as "chance (0.5)".
  std::string Chance() const {
    return absl::StrCat(criterion_.chance_name, " (",
                        criterion_.higher_is_better ? "" : metric_text_ + " ",
                        FormatValue(criterion_.chance), ")");
  }
  std::string AgainstChance() const {
    return absl::StrCat("against ", FormatValue(criterion_.chance), " by ",
                        criterion_.chance_name);
  }

  std::string SuggestSeeds() const {
    return absl::StrCat("More seeds may decide: --seeds ",
                        MoreSeeds(spec_.seed_count), ".");
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

  // Names the schemes that are more than a fifth worse than in range.
  std::string MuchWorse() const {
    constexpr double kMuchWorse = 0.2;
    std::vector<std::string> worse;
    for (const std::string& scheme : passed_) {
      const double near = InRange(scheme);
      const double far = Far(scheme).mean;
      const double loss = criterion_.higher_is_better ? near - far : far - near;
      if (loss > kMuchWorse * std::abs(near)) worse.push_back(scheme);
    }
    if (worse.empty()) return "";
    return absl::StrCat(" More than 20 % worse there than at length ",
                        spec_.train_length, ": ", FormatNames(worse), ".");
  }

  std::string NotCompared() const {
    if (not_learned_.empty()) return Unfinished();
    return absl::StrCat(" Did not learn the task and not compared: ",
                        FormatNames(not_learned_), ".", Unfinished());
  }

  std::string Unfinished() const {
    if (unfinished_.empty()) return "";
    return absl::StrCat(" Not finished in range and not compared: ",
                        FormatNames(unfinished_), ".");
  }

  const SummarySpec& spec_;
  const LearnedCriterion& criterion_;
  const std::string metric_;
  const std::string metric_text_;
  const CellTable& table_;
  int64_t far_length_ = 0;
  SeedSet seeds_;  // finished at far_length_ by all schemes that passed
  std::vector<std::string> passed_;  // the best at far_length_ comes first
  std::vector<std::string> not_learned_;
  std::vector<std::string> unfinished_;
};

}  // namespace

EvaluationVerdict TrainedVerdict(const SummarySpec& spec,
                                 const LearnedCriterion& criterion,
                                 const CellTable& table,
                                 const std::vector<EvaluationGate>& gates) {
  return Judge(spec, criterion, table, gates).Decide();
}

}  // namespace locus
