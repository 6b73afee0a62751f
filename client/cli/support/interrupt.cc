#include "client/cli/support/interrupt.h"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <utility>

#include "client/cli/support/terminal.h"
#include "client/io/temporary_file.h"

namespace locus::client {
namespace {

std::atomic<int> received_signal{0};
std::atomic<int> write_end{-1};

// Only async-signal-safe functions may be called here, so the handler writes a
// byte to a pipe, and the thread of the SignalScope reads it.
void HandleSignal(int signal) {
  const int saved = errno;
  if (received_signal.exchange(signal) != 0) {
    RemoveUnfinishedFiles();
    _exit(128 + signal);
  }
  const char byte = 1;
  if (write(write_end.load(), &byte, 1) < 0) _exit(128 + signal);
  errno = saved;
}

}  // namespace

SignalScope::SignalScope(std::function<void()> on_interrupt) {
  received_signal = 0;
  // Without a pipe, the handlers of InstallSignalHandlers() stay in place.
  if (pipe2(pipe_, O_CLOEXEC) != 0) {
    pipe_[0] = pipe_[1] = -1;
    return;
  }
  write_end = pipe_[1];
  thread_ = std::thread([this, on_interrupt = std::move(on_interrupt)] {
    char byte = 0;
    while (read(pipe_[0], &byte, 1) < 0 && errno == EINTR) {
    }
    if (byte == 1) on_interrupt();
  });
  std::signal(SIGINT, HandleSignal);
  std::signal(SIGTERM, HandleSignal);
}

SignalScope::~SignalScope() {
  InstallSignalHandlers();
  if (!thread_.joinable()) return;
  const char byte = 0;
  while (write(pipe_[1], &byte, 1) < 0 && errno == EINTR) {
  }
  thread_.join();
  write_end = -1;
  close(pipe_[0]);
  close(pipe_[1]);
}

int SignalScope::signal() { return received_signal.load(); }

}  // namespace locus::client
