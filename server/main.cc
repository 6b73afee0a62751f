// locusd: runs the server until SIGTERM or SIGINT.
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/base/version.h"
#include "server/config/command_line.h"
#include "server/config/sd_notify.h"
#include "server/observability/log.h"
#include "server/server.h"

namespace locus::server {
namespace {

// Exit status if the server cannot start.
constexpr int kStartError = 2;
// Max time for which the start and the exit wait for their log line to be
// written. A reader of standard error that is blocked delays neither for
// longer.
constexpr std::chrono::milliseconds kFlushTime(100);
// Same, for the error message if the server cannot start, which nothing else
// reports.
constexpr std::chrono::milliseconds kErrorFlushTime(1000);

// Opens closed standard streams on /dev/null. Otherwise a socket could get
// their descriptor, and receive the log.
void OpenStandardStreams() {
  for (int fd = 0; fd <= STDERR_FILENO; ++fd) {
    if (fcntl(fd, F_GETFD) < 0) open("/dev/null", O_RDWR);
  }
}

// Raises the soft limit of file descriptors to the hard limit, because each
// connection takes two. The default of 1024 protects programs that use
// select(), which the server does not.
void RaiseDescriptorLimit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

sigset_t StopSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  return signals;
}

int Fail(const absl::Status& status) {
  WriteLogText(absl::StrCat("locusd: ", status.message(), "\n"));
  FlushLog(kErrorFlushTime);
  return kStartError;
}

int Main(const std::vector<std::string>& arguments) {
  OpenStandardStreams();
  RaiseDescriptorLimit();
  std::signal(SIGPIPE, SIG_IGN);
  // All threads inherit this mask, so the signals stay pending until sigwait().
  const sigset_t stop_signals = StopSignals();
  pthread_sigmask(SIG_BLOCK, &stop_signals, nullptr);

  const auto command = ParseCommandLine(arguments, ProcessEnvironment());
  if (!command.ok()) return Fail(command.status());
  if (command->text.has_value()) {
    std::fputs(command->text->c_str(), stdout);
    return 0;
  }
  const auto server = Server::Start(command->options);
  if (!server.ok()) return Fail(server.status());
  WriteLog(LogLine("info", "ready")
               .Add("version", Version())
               .Add("commit", Commit())
               .Add("listen", command->options.listen)
               .Add("grpc_port", (*server)->grpc_port())
               .Add("http", command->options.http)
               .Add("http_port", (*server)->http_port()));
  FlushLog(kFlushTime);
  SdNotify("READY=1");

  int received = 0;
  sigwait(&stop_signals, &received);
  // A second signal terminates the process at once.
  pthread_sigmask(SIG_UNBLOCK, &stop_signals, nullptr);
  WriteLog(LogLine("info", "draining").Add("signal", received));
  SdNotify("STOPPING=1\nSTATUS=Finishing the calls in flight.");
  (*server)->Shutdown();
  WriteLog(LogLine("info", "stopped"));
  FlushLog(kFlushTime);
  return 0;
}

}  // namespace
}  // namespace locus::server

int main(int argc, char** argv) {
  return locus::server::Main({argv + 1, argv + argc});
}
