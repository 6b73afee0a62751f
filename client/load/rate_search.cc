#include "client/load/rate_search.h"

#include <algorithm>
#include <cmath>

namespace locus::client::load {
namespace {

// Minimum rate in calls per second; the search ends below it.
constexpr double kMinRate = 0.1;

}  // namespace

RateSearch::RateSearch(const RateSearchOptions& options)
    : options_(options),
      rate_(std::min(options.first_rate, options.max_rate)) {}

std::optional<double> RateSearch::Next() const {
  if (over_) return std::nullopt;
  return rate_;
}

void RateSearch::Report(bool meets_slos) {
  if (over_) return;
  ++trials_;
  if (meets_slos) {
    failures_at_rate_ = 0;
    best_ = rate_;
  } else if (++failures_at_rate_ < 2 && trials_ < options_.max_trials) {
    return;
  } else {
    failures_at_rate_ = 0;
    lowest_failed_ = rate_;
  }
  Advance();
}

void RateSearch::Advance() {
  if (!lowest_failed_.has_value()) {
    rate_ = std::min(*best_ * 2, options_.max_rate);
    over_ = reached_max();
  } else if (!best_.has_value()) {
    rate_ = *lowest_failed_ / 2;
    over_ = rate_ < kMinRate;
  } else {
    rate_ = std::sqrt(*best_ * *lowest_failed_);
    over_ = *lowest_failed_ / *best_ <= options_.ratio;
  }
  over_ = over_ || trials_ >= options_.max_trials;
}

}  // namespace locus::client::load
