// The search for the highest rate that holds.
#pragma once

#include <optional>
#include <vector>

namespace locus::client::load {

struct RateSearchOptions {
  // Where to begin, and how far to go, in calls a second.
  double first_rate = 100;
  double max_rate = 1e6;
  // Ends when the highest rate that held and the lowest that did not are closer
  // than this ratio.
  double ratio = 1.05;
  int max_trials = 40;
};

// Doubles the rate until one does not hold, then halves the gap, in ratios. A
// rate is given up only if it fails twice: a pause of the machine during one
// trial is not the server's limit. Whoever has it tries what Next says and
// reports how that went.
class RateSearch {
 public:
  explicit RateSearch(const RateSearchOptions& options);

  // The rate to try; nothing once the search is over.
  std::optional<double> Next() const;
  // Of a trial at the rate that Next named.
  void Report(bool holds);

  // The highest that held; nothing if none did.
  std::optional<double> best() const { return best_; }
  // Whether even the highest allowed rate held, so that the limit is above it.
  bool reached_max() const { return best_ == options_.max_rate; }

 private:
  void Advance();

  const RateSearchOptions options_;
  double rate_;
  int failures_at_rate_ = 0;
  int trials_ = 0;
  bool over_ = false;
  std::optional<double> best_;
  std::optional<double> lowest_failed_;
};

}  // namespace locus::client::load
