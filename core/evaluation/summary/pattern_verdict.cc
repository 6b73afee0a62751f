#include "core/evaluation/summary/pattern_verdict.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/evaluation/summary/format.h"

namespace locus {
namespace {

// Describes the patterns of one evaluation.
class PatternDescription {
 public:
  PatternDescription(const SummarySpec& spec, const CellTable& table)
      : spec_(spec), table_(table), train_length_(spec.train_length) {}

  EvaluationVerdict Describe() {
    EvaluationVerdict verdict{.kind = VerdictKind::kPattern};
    const std::vector<std::string> with_positions = SchemesWithPositions();
    FindCommon(with_positions);
    if (seeds_.empty()) {
      verdict.text = absl::StrCat(
          "Patterns cannot be compared: ", WhyNotCompared(with_positions),
          WithoutPositions(), Incomplete());
      if (spec_.eval_lengths.empty() ||
          spec_.eval_lengths.back() <= train_length_) {
        verdict.next_step = "Add longer lengths with --eval-lengths.";
      }
      return verdict;
    }
    for (const std::string& scheme : with_positions) {
      changes_.push_back({scheme, Change(scheme)});
    }
    // The sort is stable, so that ties stay in the order of the request.
    std::stable_sort(
        changes_.begin(), changes_.end(),
        [](const auto& a, const auto& b) { return a.size < b.size; });
    verdict.text = absl::StrCat(
        Steadiest(), Others(), LargestDrift(), WithoutPositions(), Incomplete(),
        " Nothing was trained, so nothing wins: the numbers describe one "
        "random layer with shared content, not quality.");
    verdict.next_step = "To compare quality, train models with --task text.";
    return verdict;
  }

 private:
  // Schemes with a smaller position_effect are not compared.
  static constexpr double kMinEffect = 0.05;
  struct Statistic {
    const char* metric;
    const char* meaning;
    bool relative;  // whether the change is relative to the larger value
  };
  static constexpr Statistic kStatistics[] = {
      {"entropy_shared", "entropy", false},
      {"window_mass_shared", "attention within half the training length",
       false},
      {"mean_distance_shared", "mean distance in tokens", true}};
  static constexpr char kDrift[] = "score_drift";
  struct SchemeChange {
    std::string scheme;
    double size;
  };

  // Seeds for which a scheme has all statistics, at the training length and at
  // `length`.
  SeedSet MeasuredSeeds(const std::string& scheme, int64_t length) const {
    SeedSet seeds =
        SeedsOf(table_.At(scheme, train_length_, kStatistics[0].metric));
    for (const Statistic& statistic : kStatistics) {
      for (const int64_t at : {train_length_, length}) {
        seeds = Intersection(seeds,
                             SeedsOf(table_.At(scheme, at, statistic.metric)));
      }
    }
    return seeds;
  }

  // Finds the largest length beyond the training length at which all schemes
  // have a common seed, and the common seeds.
  void FindCommon(const std::vector<std::string>& schemes) {
    if (schemes.empty()) return;
    for (const int64_t length : spec_.eval_lengths) {
      if (length <= train_length_) continue;
      SeedSet common = MeasuredSeeds(schemes.front(), length);
      for (const std::string& scheme : schemes) {
        common = Intersection(common, MeasuredSeeds(scheme, length));
      }
      if (common.empty()) continue;
      far_length_ = length;
      seeds_ = std::move(common);
    }
  }

  // Mean over the common seeds.
  double Mean(const std::string& scheme, int64_t length,
              const std::string& metric) const {
    return IntervalOf(RestrictTo(seeds_, table_.At(scheme, length, metric)))
        .mean;
  }

  // Returns the schemes whose positions have an effect, and records the others.
  std::vector<std::string> SchemesWithPositions() {
    std::vector<std::string> with_positions;
    for (const std::string& scheme : spec_.scheme_names) {
      const MeanInterval effect =
          IntervalOf(table_.At(scheme, train_length_, "position_effect"));
      if (effect.count == 0 || !IsMeasured(scheme)) {
        incomplete_.push_back(scheme);
      } else if (effect.mean >= kMinEffect) {
        with_positions.push_back(scheme);
      } else {
        without_positions_.push_back(
            absl::StrCat(scheme, " (", FormatValue(effect.mean), ")"));
      }
    }
    return with_positions;
  }

  // Whether a scheme has all statistics at the training length and, if a larger
  // length was requested, at one of those for the same seed.
  bool IsMeasured(const std::string& scheme) const {
    const std::vector<int64_t>& lengths = spec_.eval_lengths;
    if (lengths.empty() || lengths.back() <= train_length_) {
      return !MeasuredSeeds(scheme, train_length_).empty();
    }
    return std::any_of(lengths.begin(), lengths.end(), [&](int64_t length) {
      return length > train_length_ && !MeasuredSeeds(scheme, length).empty();
    });
  }

  double Change(const std::string& scheme) const {
    double sum = 0;
    for (const Statistic& statistic : kStatistics) {
      const double before = Mean(scheme, train_length_, statistic.metric);
      const double after = Mean(scheme, far_length_, statistic.metric);
      const double size = statistic.relative ? std::max(before, after) : 1;
      if (size > 0) sum += std::abs(after - before) / size;
    }
    return sum / std::size(kStatistics);
  }

  std::string WhyNotCompared(
      const std::vector<std::string>& with_positions) const {
    if (with_positions.size() < 2 || spec_.eval_lengths.empty() ||
        spec_.eval_lengths.back() <= train_length_) {
      return absl::StrCat(
          "no scheme that carries positions was measured both at length ",
          train_length_, " and beyond.");
    }
    return absl::StrCat("the schemes that carry positions (",
                        absl::StrJoin(with_positions, ", "),
                        ") have no finished seed in common beyond length ",
                        train_length_, ".");
  }

  // Names the scheme with the smallest change, and explains the number.
  std::string Steadiest() const {
    const SchemeChange& steadiest = changes_.front();
    std::vector<std::string> parts;
    for (const Statistic& statistic : kStatistics) {
      parts.push_back(absl::StrCat(
          statistic.meaning, " ",
          FormatValue(Mean(steadiest.scheme, train_length_, statistic.metric)),
          " to ",
          FormatValue(Mean(steadiest.scheme, far_length_, statistic.metric))));
    }
    return absl::StrCat(
        "Steadiest map: ", absl::StrJoin(Equals(), ", "), ". From length ",
        train_length_, " to ", far_length_, ", over ", CommonSeeds(),
        ", the attention of ", steadiest.scheme, " changes by ",
        FormatValue(steadiest.size),
        " on a scale from 0 to 1, the mean change of three statistics (",
        absl::StrJoin(parts, ", "), ").");
  }

  // Names the scheme whose scores differ most between distances below and
  // beyond the training length, and explains the number.
  std::string LargestDrift() const {
    const SchemeChange* largest = nullptr;
    double drift = 0;
    for (const SchemeChange& change : changes_) {
      const double size = Mean(change.scheme, far_length_, kDrift);
      if (size <= drift) continue;
      largest = &change;
      drift = size;
    }
    if (largest == nullptr) return "";
    return absl::StrCat(
        " Largest drift: ", largest->scheme,
        "; its mean score at distances of ", train_length_,
        " and more differs from that below by ", FormatValue(drift), " nats.",
        largest->scheme == changes_.front().scheme
            ? " That is no contradiction: scores that fall with the distance "
              "keep attention near, and the map steady."
            : "");
  }

  // Describes the common seeds, with a note if a scheme finished others, too.
  std::string CommonSeeds() const {
    const bool all = std::all_of(
        changes_.begin(), changes_.end(), [&](const SchemeChange& change) {
          return table_.At(change.scheme, train_length_, kStatistics[0].metric)
                     .size() == seeds_.size();
        });
    return absl::StrCat(FormatSeeds(static_cast<int64_t>(seeds_.size())),
                        all ? "" : " (those that all schemes finished)");
  }

  // The schemes with the smallest change.
  std::vector<std::string> Equals() const {
    std::vector<std::string> equals;
    for (const SchemeChange& change : changes_) {
      if (change.size == changes_.front().size) equals.push_back(change.scheme);
    }
    return equals;
  }

  std::string Others() const {
    const auto first = changes_.begin() + static_cast<int64_t>(Equals().size());
    if (first == changes_.end()) return "";
    return absl::StrCat(" Others: ",
                        absl::StrJoin(first, changes_.end(), ", ",
                                      [](std::string* out, const auto& change) {
                                        absl::StrAppend(
                                            out, change.scheme, " ",
                                            FormatValue(change.size));
                                      }),
                        ".");
  }

  std::string WithoutPositions() const {
    if (without_positions_.empty()) return "";
    return absl::StrCat(
        " Not compared, because positions move less than ", kMinEffect,
        " of the attention: ", absl::StrJoin(without_positions_, ", "), ".");
  }

  std::string Incomplete() const {
    if (incomplete_.empty()) return "";
    return absl::StrCat(
        " Not compared, because a required metric was not measured or is not "
        "finite: ",
        absl::StrJoin(incomplete_, ", "), ".");
  }

  const SummarySpec& spec_;
  const CellTable& table_;
  const int64_t train_length_;
  int64_t far_length_ = 0;
  SeedSet seeds_;  // common seeds of all compared schemes
  std::vector<SchemeChange> changes_;
  std::vector<std::string> without_positions_;
  std::vector<std::string> incomplete_;
};

}  // namespace

EvaluationVerdict PatternVerdict(const SummarySpec& spec,
                                 const CellTable& table) {
  return PatternDescription(spec, table).Describe();
}

}  // namespace locus
