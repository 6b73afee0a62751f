#include "client/load/rate_profile.h"

#include <cmath>
#include <utility>

namespace locus::client::load {
namespace {

// Returns the number of calls of a segment.
double CallsOf(const RateSegment& segment) {
  return segment.seconds * (segment.from_rate + segment.to_rate) / 2;
}

// Returns the positive root t of from * t + slope * t^2 / 2 = calls, in the
// form that avoids cancellation.
double TimeWithin(const RateSegment& segment, double calls) {
  if (calls <= 0) return 0;
  const double slope = (segment.to_rate - segment.from_rate) / segment.seconds;
  const double from = segment.from_rate;
  return 2 * calls /
         (from + std::sqrt(std::fmax(0, from * from + 2 * slope * calls)));
}

}  // namespace

RateProfile::RateProfile(std::vector<RateSegment> segments)
    : segments_(std::move(segments)) {
  for (const RateSegment& segment : segments_) {
    seconds_ += segment.seconds;
    call_count_ += CallsOf(segment);
  }
}

std::optional<double> RateProfile::TimeOf(double calls) const {
  double begin = 0;
  for (const RateSegment& segment : segments_) {
    const double segment_calls = CallsOf(segment);
    // A call that is due exactly at the end of a segment belongs to the next.
    if (calls < segment_calls) return begin + TimeWithin(segment, calls);
    calls -= segment_calls;
    begin += segment.seconds;
  }
  return std::nullopt;
}

}  // namespace locus::client::load
