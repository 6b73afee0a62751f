#include "server/evaluation/executor.h"

#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "core/base/status.h"
#include "server/admission/rejection.h"

namespace locus::server {

EvaluationExecutor::EvaluationExecutor(int threads, int max_running,
                                       Priority priority)
    : max_running_(max_running),
      priority_(priority),
      pool_(priority == Priority::kLowest ? std::max(1, threads - 1) : threads,
            [this] { ApplyPriority(); }) {}

void EvaluationExecutor::ApplyPriority() const {
  if (priority_ == Priority::kNormal) return;
  constexpr int kMaxNiceness = 19;
  const sched_param no_priority{};
  // On Linux both calls apply to one thread, not to the process.
  if (sched_setscheduler(0, SCHED_IDLE, &no_priority) == 0) return;
  setpriority(PRIO_PROCESS, static_cast<id_t>(syscall(SYS_gettid)),
              kMaxNiceness);
}

EvaluationExecutor::Slot::~Slot() {
  if (executor_ != nullptr) executor_->Leave();
}

absl::StatusOr<EvaluationExecutor::Slot> EvaluationExecutor::Enter() {
  if (max_running_ == 0) {
    return LimitExceeded(
        "request", "max_evaluations",
        "max_evaluations is 0, so this server runs no evaluations");
  }
  const absl::MutexLock lock(&mutex_);
  if (running_ >= max_running_) {
    return Reject(
        RejectReason::kEvaluations,
        absl::StrCat("max_evaluations is ", max_running_,
                     ", and that many evaluations are running; try again"));
  }
  ++running_;
  return Slot(this);
}

void EvaluationExecutor::Leave() {
  const absl::MutexLock lock(&mutex_);
  --running_;
}

int EvaluationExecutor::running() const {
  const absl::MutexLock lock(&mutex_);
  return running_;
}

}  // namespace locus::server
