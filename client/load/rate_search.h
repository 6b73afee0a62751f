// Search for the highest rate that meets the SLOs.
#pragma once

#include <optional>
#include <vector>

namespace locus::client::load {

struct RateSearchOptions {
  // Rate of the first trial, in calls per second.
  double first_rate = 100;
  // Maximum rate to try, in calls per second.
  double max_rate = 1e6;
  // The search ends when the lowest failed rate and the highest passed rate
  // differ by less than this ratio.
  double ratio = 1.05;
  int max_trials = 40;
};

// Exponential search followed by bisection on a logarithmic scale: doubles the
// rate until a trial fails, then tries the geometric mean of the highest rate
// that passed and the lowest that failed. A rate counts as failed only if two
// trials fail, so that a pause of the machine during one trial is not mistaken
// for the limit of the server.
//
// The class only decides; the caller runs a trial at the rate of Next() and
// passes the outcome to Report(). Not thread-safe.
class RateSearch {
 public:
  explicit RateSearch(const RateSearchOptions& options);

  // Returns the rate of the next trial; nullopt once the search has ended.
  std::optional<double> Next() const;
  // Reports whether the trial at the rate of Next() met the SLOs.
  void Report(bool meets_slos);

  // Returns the highest rate that passed; nullopt if none did.
  std::optional<double> best() const { return best_; }
  // Whether the maximum rate passed, so that the actual limit is higher.
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
