// Asks now and then, by the work done, whether anyone still wants it.
#pragma once

#include "core/parallel/stopper.h"

namespace locus {

// For one thread of work that a Stopper stops. Once stopped, results are
// worthless and whoever started the work looks at the Stopper.
class Interruption {
 public:
  // Null: never stops. The stopper must outlive it.
  explicit Interruption(Stopper* stopper) : stopper_(stopper) {}

  // Tells of work, in multiplications and additions, and whether to stop. Asks
  // about every millisecond.
  bool After(double flops) {
    if (stopped_ || stopper_ == nullptr) return stopped_;
    constexpr double kBetweenQuestions = 2e7;
    since_question_ += flops;
    if (since_question_ < kBetweenQuestions) return false;
    since_question_ = 0;
    stopped_ = stopper_->ShouldStop();
    return stopped_;
  }
  bool stopped() const { return stopped_; }

 private:
  Stopper* const stopper_;
  double since_question_ = 0;
  bool stopped_ = false;
};

}  // namespace locus
