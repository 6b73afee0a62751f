#include "server/admission/cost_model.h"

#include <algorithm>
#include <cmath>

namespace locus::server {

double CostModel::GuessSeconds(const Work& work) const {
  constexpr double kOverhead = 30e-6;
  constexpr double kFlopsPerSecond = 2e10;  // of one thread
  constexpr double kBytesPerSecond = 4e9;
  return kOverhead + work.flops / (kFlopsPerSecond * threads_) +
         static_cast<double>(work.bytes) / kBytesPerSecond;
}

double CostModel::ExpectSeconds(const Work& work) const {
  return GuessSeconds(work) *
         std::exp(log_factor_.load(std::memory_order_relaxed));
}

void CostModel::Learn(const Work& work, double seconds) {
  // Outliers, such as calls that took page faults, are clamped.
  constexpr double kWeight = 0.1;
  const double kMaxLogFactor = std::log(20.0);
  const double measured =
      std::clamp(std::log(std::max(seconds, 1e-9) / GuessSeconds(work)),
                 -kMaxLogFactor, kMaxLogFactor);
  // Of two concurrent updates one may be lost, which does no harm.
  const double before = log_factor_.load(std::memory_order_relaxed);
  log_factor_.store(before + kWeight * (measured - before),
                    std::memory_order_relaxed);
}

}  // namespace locus::server
