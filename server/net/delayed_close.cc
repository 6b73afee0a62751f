#include "server/net/delayed_close.h"

#include <system_error>

#include "server/observability/log.h"

namespace locus::server {

DelayedClose::DelayedClose(Listener* listener,
                           std::chrono::milliseconds delay) {
  if (listener == nullptr) return;
  const auto close = [this, listener, delay] {
    {
      const MutexLock lock(&mutex_);
      if (ended_changed_.WaitFor(
              &mutex_, delay, [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
                return ended_;
              })) {
        return;
      }
    }
    const int count = listener->CloseAll();
    WriteLog(
        LogLine("warning", "connections_closed").Add("connections", count));
  };
  try {
    thread_ = std::thread(close);
  } catch (const std::system_error&) {
    // Without a thread, peers have no time to learn that their calls ended.
    listener->CloseAll();
  }
}

DelayedClose::~DelayedClose() {
  if (!thread_.joinable()) return;
  {
    const MutexLock lock(&mutex_);
    ended_ = true;
  }
  ended_changed_.NotifyOne();
  thread_.join();
}

}  // namespace locus::server
