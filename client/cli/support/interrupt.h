// Handling of SIGINT and SIGTERM while a call runs.
#pragma once

#include <functional>
#include <thread>

namespace locus::client {

// Turns interrupts into cancellation. During the lifetime of a SignalScope, the
// first SIGINT or SIGTERM calls `on_interrupt` on a separate thread, and a
// second one ends the program at once. The destructor restores the handlers of
// InstallSignalHandlers(). At most one SignalScope may exist at a time.
class SignalScope {
 public:
  explicit SignalScope(std::function<void()> on_interrupt);
  ~SignalScope();
  SignalScope(const SignalScope&) = delete;
  SignalScope& operator=(const SignalScope&) = delete;

  // The signal received since the last SignalScope was created; 0 if none was.
  static int signal();

 private:
  int pipe_[2];
  std::thread thread_;
};

}  // namespace locus::client
