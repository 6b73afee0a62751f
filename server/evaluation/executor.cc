#include "server/evaluation/executor.h"

#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "core/base/status.h"
#include "server/rpc/status.h"

namespace locus::server {

Background::Background(int threads, int max_running, Priority priority)
    : max_running_(max_running),
      priority_(priority),
      pool_(priority == Priority::kLowest ? std::max(1, threads - 1) : threads,
            [this] { AdoptThread(); }) {}

void Background::AdoptThread() const {
  if (priority_ == Priority::kUsual) return;
  constexpr int kNicest = 19;
  const sched_param no_priority{};
  // Linux takes both for one thread, not the process.
  if (sched_setscheduler(0, SCHED_IDLE, &no_priority) == 0) return;
  setpriority(PRIO_PROCESS, static_cast<id_t>(syscall(SYS_gettid)), kNicest);
}

Background::Slot::~Slot() {
  if (background_ != nullptr) background_->Leave();
}

absl::StatusOr<Background::Slot> Background::Enter() {
  if (max_running_ == 0) {
    return LimitExceeded("request", "max_evaluations",
                         "max_evaluations is 0: this server does not evaluate");
  }
  const std::lock_guard lock(mutex_);
  if (running_ >= max_running_) {
    return Shed(ShedReason::kEvaluations,
                absl::StrCat("max_evaluations is ", max_running_,
                             ", and as many run already; try again"));
  }
  ++running_;
  return Slot(this);
}

void Background::Leave() {
  const std::lock_guard lock(mutex_);
  --running_;
}

int Background::running() const {
  const std::lock_guard lock(mutex_);
  return running_;
}

}  // namespace locus::server
