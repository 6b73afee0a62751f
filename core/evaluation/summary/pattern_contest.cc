#include "core/evaluation/summary/pattern_contest.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/evaluation/summary/words.h"

namespace locus {
namespace {

class PatternContest {
 public:
  PatternContest(const SummaryQuestion& question, const Results& results)
      : question_(question), results_(results), near_(question.train_length) {}

  void Decide(EvaluationSummary* summary) {
    const std::vector<std::string> carrying = Carrying();
    far_ = results_.FarthestCommon(carrying, question_.eval_lengths,
                                   "mean_distance_shared");
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
    const MeanInterval mean = IntervalOf(results_.At(scheme, length, metric));
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

void DecidePatterns(const SummaryQuestion& question, const Results& results,
                    EvaluationSummary* summary) {
  PatternContest(question, results).Decide(summary);
}

}  // namespace locus
