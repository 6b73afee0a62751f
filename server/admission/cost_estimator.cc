#include "server/admission/cost_estimator.h"

#include <algorithm>
#include <cmath>

namespace locus::server {
namespace {

constexpr double kWeight = 0.1;

}  // namespace

double CostEstimator::Guess(const Work& work) const {
  constexpr double kOverhead = 30e-6;
  constexpr double kFlopsPerSecond = 2e10;  // of one thread
  constexpr double kBytesPerSecond = 4e9;
  return kOverhead + work.flops / (kFlopsPerSecond * threads_) +
         static_cast<double>(work.bytes) / kBytesPerSecond;
}

double CostEstimator::Expect(const Work& work) const {
  return Guess(work) * std::exp(log_factor_);
}

double CostEstimator::Predict(uint64_t connection) const {
  return Knows(connection) ? recent_[IndexOf(connection)].seconds : 0;
}

int64_t CostEstimator::PredictBytes(uint64_t connection) const {
  return Knows(connection) ? recent_[IndexOf(connection)].message_bytes : 0;
}

void CostEstimator::OnExpected(uint64_t connection, double seconds,
                               int64_t message_bytes) {
  Recent& recent = recent_[IndexOf(connection)];
  if (!Knows(connection) || seconds < recent.seconds) {
    recent = {connection, seconds, message_bytes};
  } else {
    recent.seconds += kWeight * (seconds - recent.seconds);
    recent.message_bytes = message_bytes;
  }
}

void CostEstimator::OnMeasured(const Work& work, double seconds) {
  // Outliers, such as calls that took page faults, are clamped.
  const double kMaxLogFactor = std::log(20.0);
  const double measured =
      std::clamp(std::log(std::max(seconds, 1e-9) / Guess(work)),
                 -kMaxLogFactor, kMaxLogFactor);
  log_factor_ += kWeight * (measured - log_factor_);
}

}  // namespace locus::server
