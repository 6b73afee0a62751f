#include "core/evaluation/summary/pattern_contest.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <string>
#include <utility>
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
    FindCommon(carrying);
    if (seeds_.empty()) {
      summary->reason =
          absl::StrCat("No winner: ", WhyNone(carrying), LeftOut(), Missing());
      return;
    }
    for (const std::string& scheme : carrying) {
      changes_.push_back({scheme, Change(scheme)});
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

  // The seeds for which a scheme has all that decides, in range and at a
  // length.
  SeedSet MeasuredSeeds(const std::string& scheme, int64_t length) const {
    SeedSet seeds = SeedsOf(results_.At(scheme, near_, kStatistics[0].metric));
    for (const Statistic& statistic : kStatistics) {
      for (const int64_t at : {near_, length}) {
        seeds = Intersection(
            seeds, SeedsOf(results_.At(scheme, at, statistic.metric)));
      }
    }
    return seeds;
  }

  // The largest length beyond the one in range for which all schemes share a
  // seed, and the seeds they share.
  void FindCommon(const std::vector<std::string>& schemes) {
    if (schemes.empty()) return;
    for (const int64_t length : question_.eval_lengths) {
      if (length <= near_) continue;
      SeedSet common = MeasuredSeeds(schemes.front(), length);
      for (const std::string& scheme : schemes) {
        common = Intersection(common, MeasuredSeeds(scheme, length));
      }
      if (common.empty()) continue;
      far_ = length;
      seeds_ = std::move(common);
    }
  }

  // Over the seeds that all schemes share.
  double Mean(const std::string& scheme, int64_t length,
              const std::string& metric) const {
    return IntervalOf(Only(seeds_, results_.At(scheme, length, metric))).mean;
  }

  // The schemes whose positions matter; notes the others.
  std::vector<std::string> Carrying() {
    std::vector<std::string> carrying;
    for (const std::string& scheme : question_.scheme_names) {
      const MeanInterval effect =
          IntervalOf(results_.At(scheme, near_, "position_effect"));
      if (effect.count == 0 || !IsMeasured(scheme)) {
        missing_.push_back(scheme);
      } else if (effect.mean >= kLeastEffect) {
        carrying.push_back(scheme);
      } else {
        left_out_.push_back(
            absl::StrCat(scheme, " (", Short(effect.mean), ")"));
      }
    }
    return carrying;
  }

  // Whether all that decides is there in range and, if there is one, at a
  // larger length.
  bool IsMeasured(const std::string& scheme) const {
    const std::vector<int64_t>& lengths = question_.eval_lengths;
    if (lengths.empty() || lengths.back() <= near_) {
      return !MeasuredSeeds(scheme, near_).empty();
    }
    return std::any_of(lengths.begin(), lengths.end(), [&](int64_t length) {
      return length > near_ && !MeasuredSeeds(scheme, length).empty();
    });
  }

  double Change(const std::string& scheme) const {
    double sum = 0;
    for (const Statistic& statistic : kStatistics) {
      const double before = Mean(scheme, near_, statistic.metric);
      const double after = Mean(scheme, far_, statistic.metric);
      const double size = statistic.relative ? std::max(before, after) : 1;
      if (size > 0) sum += std::abs(after - before) / size;
    }
    return sum / std::size(kStatistics);
  }

  std::string WhyNone(const std::vector<std::string>& carrying) const {
    if (carrying.size() < 2 || question_.eval_lengths.back() <= near_) {
      return absl::StrCat(
          "no scheme that carries positions was measured both at length ",
          near_, " and beyond.");
    }
    return absl::StrCat(
        "the schemes that carry positions (", absl::StrJoin(carrying, ", "),
        ") have no finished seed in common beyond length ", near_, ".");
  }

  std::string Lead() const {
    const SchemeChange& winner = changes_.front();
    std::vector<std::string> parts;
    for (const Statistic& statistic : kStatistics) {
      parts.push_back(absl::StrCat(
          statistic.metric, " ",
          Short(Mean(winner.scheme, near_, statistic.metric)), " to ",
          Short(Mean(winner.scheme, far_, statistic.metric))));
    }
    return absl::StrCat("Of the schemes that carry positions, the pattern of ",
                        winner.scheme, " changes least from length ", near_,
                        " to ", far_, ", over ", CommonSeeds(), ": by ",
                        Short(winner.size), " on average (",
                        absl::StrJoin(parts, ", "), ").", Ties());
  }

  // Says so if some scheme has more of them.
  std::string CommonSeeds() const {
    const bool all = std::all_of(
        changes_.begin(), changes_.end(), [&](const SchemeChange& change) {
          return results_.At(change.scheme, near_, kStatistics[0].metric)
                     .size() == seeds_.size();
        });
    return absl::StrCat(Seeds(static_cast<int64_t>(seeds_.size())),
                        all ? "" : " (those that all schemes finished)");
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
  SeedSet seeds_;  // for which all that are compared have all that decides
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
