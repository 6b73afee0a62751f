// locusd: runs the server until SIGTERM or SIGINT.
#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <memory>
#include <string>
#include <system_error>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/status.h"
#include "server/base/version.h"
#include "server/config/command_line.h"
#include "server/config/sd_notify.h"
#include "server/config/stop_signals.h"
#include "server/config/system_resources.h"
#include "server/observability/log.h"
#include "server/server.h"

namespace locus::server {
namespace {

// Exit codes if the server cannot start: for lack of a resource of the system,
// which another attempt may find, or for a wrong flag, an invalid file or a
// port in use.
constexpr int kExhausted = 1;
constexpr int kStartError = 2;
// Time from a stop signal to the end of the process, in addition to the grace
// period: for responses to be sent, and for connections and threads to end.
constexpr std::chrono::seconds kStopTime(3);
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

// Writes a line to standard error without the log's thread, which could not be
// created. Drops the line if the reader is blocked.
void WriteDirectly(const std::string& line) {
  pollfd target = {.fd = STDERR_FILENO, .events = POLLOUT, .revents = 0};
  if (poll(&target, 1, static_cast<int>(kErrorFlushTime.count())) <= 0) return;
  [[maybe_unused]] const ssize_t written =
      write(STDERR_FILENO, line.data(), line.size());
}

int Fail(const absl::Status& status) {
  const std::string line = absl::StrCat("locusd: ", status.message(), "\n");
  try {
    WriteLogText(line);
    FlushLog(kErrorFlushTime);
  } catch (const std::system_error&) {
    WriteDirectly(line);
  }
  return absl::IsResourceExhausted(status) ? kExhausted : kStartError;
}

// Creates the thread that writes the log, so that later lines cannot fail.
absl::Status StartLog() {
  try {
    FlushLog(std::chrono::milliseconds(0));
  } catch (const std::system_error& error) {
    return ThreadCreationError(error);
  }
  return absl::OkStatus();
}

void LogTimeout() {
  WriteLog(LogLine("error", "stop_timeout"));
  FlushLog(kFlushTime);
}

void ReportReady(const ServerOptions& options, const Server& server) {
  WriteLog(LogLine("info", "ready")
               .Add("version", Version())
               .Add("commit", Commit())
               .Add("listen", options.listen)
               .Add("grpc_port", server.grpc_port())
               .Add("http", options.http)
               .Add("http_port", server.http_port()));
  FlushLog(kFlushTime);
  SdNotify("READY=1");
}

// Runs the server until a stop signal, which may arrive during the start.
absl::Status Serve(const ServerOptions& options, StopSignals& signals) {
  LOCUS_ASSIGN_OR_RETURN(const std::unique_ptr<Server> server,
                         Server::Start(options));
  signals.OnStarted(kStopTime +
                    std::chrono::duration_cast<std::chrono::nanoseconds>(
                        std::chrono::duration<double>(options.grace_seconds)));
  if (!signals.is_received()) ReportReady(options, *server);
  const int received = signals.Await();
  WriteLog(LogLine("info", "draining").Add("signal", received));
  SdNotify("STOPPING=1\nSTATUS=Finishing the calls in flight.");
  server->Shutdown();
  WriteLog(LogLine("info", "stopped"));
  FlushLog(kFlushTime);
  return absl::OkStatus();
}

int Main(const std::vector<std::string>& arguments) {
  OpenStandardStreams();
  RaiseDescriptorLimit();
  std::signal(SIGPIPE, SIG_IGN);
  const auto signals = StopSignals::Install({.on_timeout = LogTimeout});
  if (!signals.ok()) return Fail(signals.status());
  if (const absl::Status log = StartLog(); !log.ok()) return Fail(log);

  const auto command = ParseCommandLine(arguments, ProcessEnvironment());
  if (!command.ok()) return Fail(command.status());
  if (command->text.has_value()) {
    std::fputs(command->text->c_str(), stdout);
    return 0;
  }
  const absl::Status served = Serve(command->options, **signals);
  return served.ok() ? 0 : Fail(served);
}

}  // namespace
}  // namespace locus::server

int main(int argc, char** argv) {
  return locus::server::Main({argv + 1, argv + argc});
}
