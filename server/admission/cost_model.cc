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
  // A call that was stopped, or took a page fault, teaches little; no call
  // teaches everything.
  constexpr double kShare = 0.1;
  const double kMost = std::log(20.0);
  const double seen = std::clamp(
      std::log(std::max(seconds, 1e-9) / GuessSeconds(work)), -kMost, kMost);
  // Two at once may lose one of the two, which is as good.
  const double before = log_factor_.load(std::memory_order_relaxed);
  log_factor_.store(before + kShare * (seen - before),
                    std::memory_order_relaxed);
}

}  // namespace locus::server
