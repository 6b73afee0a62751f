#include "server/config/stop_signals.h"

#include <pthread.h>
#include <unistd.h>

#include <system_error>
#include <thread>
#include <utility>

#include "server/config/system_resources.h"

namespace locus::server {

StopSignals::StopSignals(Options options) : options_(std::move(options)) {
  sigemptyset(&signals_);
  for (const int signal : {SIGTERM, SIGINT}) {
    sigaddset(&signals_, signal);
    // The parent may have ignored the signal, which exec() preserves.
    std::signal(signal, SIG_DFL);
  }
  pthread_sigmask(SIG_BLOCK, &signals_, nullptr);
}

absl::StatusOr<StopSignals*> StopSignals::Install(Options options) {
  // Never destroyed: the thread uses it until the process ends.
  auto* const signals = new StopSignals(std::move(options));
  try {
    std::thread([signals] { signals->Run(); }).detach();
  } catch (const std::system_error& error) {
    delete signals;
    return ThreadCreationError(error);
  }
  return signals;
}

void StopSignals::Run() {
  int signal = 0;
  sigwait(&signals_, &signal);
  // This thread alone accepts the second signal, whose default action
  // terminates the process.
  pthread_sigmask(SIG_UNBLOCK, &signals_, nullptr);
  const MutexLock lock(&mutex_);
  received_ = signal;
  changed_.NotifyAll();
  if (!changed_.WaitFor(&mutex_, options_.start_limit,
                        [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
                          return drain_limit_.has_value();
                        })) {
    EndProcess();
  }
  changed_.WaitFor(&mutex_, *drain_limit_, [] { return false; });
  EndProcess();
}

void StopSignals::EndProcess() const {
  if (options_.on_timeout) options_.on_timeout();
  // exit() would run destructors, which may be what the process waits for.
  _exit(0);
}

void StopSignals::OnStarted(std::chrono::nanoseconds drain_limit) {
  const MutexLock lock(&mutex_);
  drain_limit_ = drain_limit;
  changed_.NotifyAll();
}

bool StopSignals::is_received() const {
  const MutexLock lock(&mutex_);
  return received_.has_value();
}

int StopSignals::Await() const {
  const MutexLock lock(&mutex_);
  changed_.Wait(&mutex_, [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return received_.has_value();
  });
  return *received_;
}

}  // namespace locus::server
