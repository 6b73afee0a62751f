// Interrupts that end a call instead of the program.
#pragma once

#include <functional>
#include <thread>

namespace locus::client {

// While it lives, the first SIGINT or SIGTERM calls `on_interrupt`, on a thread
// of its own, and the second ends the program at once. One at a time.
class InterruptScope {
 public:
  explicit InterruptScope(std::function<void()> on_interrupt);
  ~InterruptScope();
  InterruptScope(const InterruptScope&) = delete;
  InterruptScope& operator=(const InterruptScope&) = delete;

  // The signal that came; 0: none.
  static int signal();

 private:
  int pipe_[2];
  std::thread thread_;
};

}  // namespace locus::client
