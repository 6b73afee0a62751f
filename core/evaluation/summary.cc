#include "core/evaluation/summary.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "core/evaluation/statistics.h"

namespace locus {
namespace {

// By seed.
using Values = std::map<uint64_t, double>;

std::vector<double> Numbers(const Values& values) {
  std::vector<double> numbers;
  for (const auto& [seed, value] : values) numbers.push_back(value);
  return numbers;
}

// a - b, of seeds that have both.
Values Difference(const Values& a, const Values& b) {
  Values differences;
  for (const auto& [seed, value] : a) {
    if (const auto other = b.find(seed); other != b.end()) {
      differences[seed] = value - other->second;
    }
  }
  return differences;
}

// Cells, found by what they are of.
class Results {
 public:
  explicit Results(absl::Span<const EvaluationCell> cells) {
    for (const EvaluationCell& cell : cells) {
      for (const auto& [metric, value] : cell.metrics) {
        values_[{cell.scheme_name, cell.eval_length}][metric][cell.seed] =
            value;
      }
    }
  }

  const std::map<std::string, Values>& Metrics(const std::string& scheme,
                                               int64_t length) const {
    static const auto* const none = new std::map<std::string, Values>();
    const auto found = values_.find({scheme, length});
    return found == values_.end() ? *none : found->second;
  }

  const Values& At(const std::string& scheme, int64_t length,
                   const std::string& metric) const {
    static const auto* const none = new Values();
    const auto& metrics = Metrics(scheme, length);
    const auto found = metrics.find(metric);
    return found == metrics.end() ? *none : found->second;
  }

  MeanInterval Mean(const std::string& scheme, int64_t length,
                    const std::string& metric) const {
    return IntervalOf(Numbers(At(scheme, length, metric)));
  }

 private:
  std::map<std::pair<std::string, int64_t>, std::map<std::string, Values>>
      values_;
};

void AddRows(const SummaryQuestion& question, const Results& results,
             EvaluationSummary* summary) {
  for (const std::string& scheme : question.scheme_names) {
    for (const int64_t length : question.eval_lengths) {
      for (const auto& [metric, values] : results.Metrics(scheme, length)) {
        const MeanInterval mean = IntervalOf(Numbers(values));
        summary->rows.push_back({scheme, length, metric, mean.mean, mean.low,
                                 mean.high, mean.count});
      }
    }
  }
}

void AddDifferences(const SummaryQuestion& question, const Results& results,
                    EvaluationSummary* summary) {
  if (question.scheme_names.empty()) return;
  const std::string& baseline = question.scheme_names.front();
  for (const std::string& scheme : question.scheme_names) {
    if (scheme == baseline) continue;
    for (const int64_t length : question.eval_lengths) {
      for (const auto& [metric, values] : results.Metrics(scheme, length)) {
        const Values differences =
            Difference(values, results.At(baseline, length, metric));
        if (differences.empty()) continue;
        const MeanInterval mean = IntervalOf(Numbers(differences));
        summary->differences.push_back({scheme, baseline, length, metric,
                                        mean.mean, mean.low, mean.high,
                                        mean.count});
      }
    }
  }
}

using SeedSet = std::set<uint64_t>;

// The seeds for which all schemes have the metric at a length.
SeedSet CommonSeeds(const Results& results,
                    const std::vector<std::string>& schemes, int64_t length,
                    const std::string& metric) {
  SeedSet common;
  if (schemes.empty()) return common;
  for (const auto& [seed, value] :
       results.At(schemes.front(), length, metric)) {
    const bool in_all =
        std::all_of(schemes.begin(), schemes.end(), [&](const auto& scheme) {
          return results.At(scheme, length, metric).count(seed) != 0;
        });
    if (in_all) common.insert(seed);
  }
  return common;
}

// The largest length at which all schemes have the metric for one seed at
// least; 0 if there is none.
int64_t FarthestCommon(const SummaryQuestion& question, const Results& results,
                       const std::vector<std::string>& schemes,
                       const std::string& metric) {
  int64_t farthest = 0;
  for (const int64_t length : question.eval_lengths) {
    if (CommonSeeds(results, schemes, length, metric).empty()) continue;
    farthest = std::max(farthest, length);
  }
  return farthest;
}

std::string Seeds(int64_t count) {
  return absl::StrCat(count, count == 1 ? " seed" : " seeds");
}

// As many digits as a sentence bears.
std::string Short(double value) { return absl::StrFormat("%.4g", value); }

// "[0.1, 0.3]".
std::string Interval(const MeanInterval& interval) {
  return absl::StrCat("[", Short(interval.low), ", ", Short(interval.high),
                      "]");
}

// Decides between trained models, and says why.
class Contest {
 public:
  Contest(const SummaryQuestion& question, const LearnedWhen& learned_when,
          const Results& results)
      : question_(question),
        metric_(learned_when.metric),
        more_is_better_(learned_when.more_is_better),
        threshold_(learned_when.threshold),
        results_(results) {}

  void Decide(EvaluationSummary* summary) {
    for (const std::string& scheme : question_.scheme_names) {
      PassGate(scheme, summary);
    }
    far_ = FarthestCommon(question_, results_, passed_, metric_);
    seeds_ = CommonSeeds(results_, passed_, far_, metric_);
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
    Values common;
    for (const auto& [seed, value] : results_.At(scheme, length, metric_)) {
      if (seeds_.count(seed) != 0) common[seed] = value;
    }
    return common;
  }
  double Far(const std::string& scheme) const {
    return IntervalOf(Numbers(Common(scheme, far_))).mean;
  }
  double InRange(const std::string& scheme) const {
    return IntervalOf(Numbers(Common(scheme, question_.train_length))).mean;
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
          Short(IntervalOf(Numbers(values)).mean), ")"));
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
    const MeanInterval lead = IntervalOf(
        Numbers(Difference(Common(winner, far_), Common(second, far_))));
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

// Finds the steadiest pattern, and says what that is worth.
class PatternContest {
 public:
  PatternContest(const SummaryQuestion& question, const Results& results)
      : question_(question), results_(results), near_(question.train_length) {}

  void Decide(EvaluationSummary* summary) {
    const std::vector<std::string> carrying = Carrying();
    far_ =
        FarthestCommon(question_, results_, carrying, "mean_distance_shared");
    for (const std::string& scheme : carrying) {
      if (const auto change = Change(scheme)) {
        changes_.push_back({scheme, *change});
      } else {
        missing_.push_back(scheme);
      }
    }
    if (changes_.empty() || far_ <= near_) {
      summary->reason = absl::StrCat(
          "No winner: no scheme that carries positions was measured both at "
          "length ",
          near_, " and beyond.", LeftOut(), Missing());
      return;
    }
    // Stable, so that equals stay in the order asked for.
    std::stable_sort(
        changes_.begin(), changes_.end(),
        [](const auto& a, const auto& b) { return a.size < b.size; });
    summary->winner = changes_.front().scheme;
    summary->reason = absl::StrCat(
        Lead(), Others(), LeftOut(), Missing(),
        " This is the steadiness of one random layer with shared content, not "
        "a measured quality: nothing was trained.");
  }

 private:
  static constexpr double kLeastEffect = 0.05;
  struct Statistic {
    const char* metric;
    bool relative;  // its change is a share of the larger value
  };
  static constexpr Statistic kStatistics[] = {{"entropy_shared", false},
                                              {"window_mass_shared", false},
                                              {"mean_distance_shared", true}};
  struct SchemeChange {
    std::string scheme;
    double size;
  };

  std::optional<double> Mean(const std::string& scheme, int64_t length,
                             const std::string& metric) const {
    const MeanInterval mean = results_.Mean(scheme, length, metric);
    if (mean.count == 0) return std::nullopt;
    return mean.mean;
  }

  // The schemes whose positions matter; notes the others.
  std::vector<std::string> Carrying() {
    std::vector<std::string> carrying;
    for (const std::string& scheme : question_.scheme_names) {
      const auto effect = Mean(scheme, near_, "position_effect");
      if (!effect || !IsMeasured(scheme)) {
        missing_.push_back(scheme);
      } else if (*effect >= kLeastEffect) {
        carrying.push_back(scheme);
      } else {
        left_out_.push_back(absl::StrCat(scheme, " (", Short(*effect), ")"));
      }
    }
    return carrying;
  }

  // Whether all that decides is there in range and, if there is one, at a
  // larger length.
  bool IsMeasured(const std::string& scheme) const {
    const auto has_all = [&](int64_t length) {
      return std::all_of(
          std::begin(kStatistics), std::end(kStatistics),
          [&](const Statistic& statistic) {
            return Mean(scheme, length, statistic.metric).has_value();
          });
    };
    bool beyond = question_.eval_lengths.empty() ||
                  question_.eval_lengths.back() <= near_;
    for (const int64_t length : question_.eval_lengths) {
      beyond |= length > near_ && has_all(length);
    }
    return beyond && has_all(near_);
  }

  // Nothing if a metric is missing.
  std::optional<double> Change(const std::string& scheme) const {
    double sum = 0;
    for (const Statistic& statistic : kStatistics) {
      const auto before = Mean(scheme, near_, statistic.metric);
      const auto after = Mean(scheme, far_, statistic.metric);
      if (!before || !after) return std::nullopt;
      const double size = statistic.relative ? std::max(*before, *after) : 1;
      if (size > 0) sum += std::abs(*after - *before) / size;
    }
    return sum / std::size(kStatistics);
  }

  std::string Lead() const {
    const SchemeChange& winner = changes_.front();
    std::vector<std::string> parts;
    for (const Statistic& statistic : kStatistics) {
      parts.push_back(absl::StrCat(
          statistic.metric, " ",
          Short(*Mean(winner.scheme, near_, statistic.metric)), " to ",
          Short(*Mean(winner.scheme, far_, statistic.metric))));
    }
    return absl::StrCat("Of the schemes that carry positions, the pattern of ",
                        winner.scheme, " changes least from length ", near_,
                        " to ", far_, ": by ", Short(winner.size),
                        " on average (", absl::StrJoin(parts, ", "), ").",
                        Ties());
  }

  std::string Ties() const {
    std::vector<std::string> equals;
    for (size_t n = 1; n < changes_.size(); ++n) {
      if (changes_[n].size != changes_.front().size) break;
      equals.push_back(changes_[n].scheme);
    }
    if (equals.empty()) return "";
    return absl::StrCat(" Equal to it: ", absl::StrJoin(equals, ", "), "; ",
                        changes_.front().scheme, " was asked for first.");
  }

  std::string Others() const {
    if (changes_.size() < 2) return "";
    return absl::StrCat(
        " The others: ",
        absl::StrJoin(changes_.begin() + 1, changes_.end(), ", ",
                      [](std::string* out, const auto& change) {
                        absl::StrAppend(out, change.scheme, " ",
                                        Short(change.size));
                      }),
        ".");
  }

  std::string LeftOut() const {
    if (left_out_.empty()) return "";
    return absl::StrCat(
        " Not compared, since positions move less than ", kLeastEffect,
        " of the attention: ", absl::StrJoin(left_out_, ", "), ".");
  }

  std::string Missing() const {
    if (missing_.empty()) return "";
    return absl::StrCat(
        " Not compared, since a number that decides was not "
        "measured or is not finite: ",
        absl::StrJoin(missing_, ", "), ".");
  }

  const SummaryQuestion& question_;
  const Results& results_;
  const int64_t near_;
  int64_t far_ = 0;
  std::vector<SchemeChange> changes_;
  std::vector<std::string> left_out_;
  std::vector<std::string> missing_;
};

}  // namespace

EvaluationSummary SummarizeTrained(const SummaryQuestion& question,
                                   const LearnedWhen& learned_when,
                                   absl::Span<const EvaluationCell> cells) {
  const Results results(cells);
  EvaluationSummary summary;
  AddRows(question, results, &summary);
  AddDifferences(question, results, &summary);
  Contest(question, learned_when, results).Decide(&summary);
  return summary;
}

EvaluationSummary SummarizePatterns(const SummaryQuestion& question,
                                    absl::Span<const EvaluationCell> cells) {
  const Results results(cells);
  EvaluationSummary summary;
  AddRows(question, results, &summary);
  AddDifferences(question, results, &summary);
  PatternContest(question, results).Decide(&summary);
  return summary;
}

}  // namespace locus
