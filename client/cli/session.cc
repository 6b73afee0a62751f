#include "client/cli/session.h"

#include <utility>

#include "CLI/CLI.hpp"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "client/cli/usage.h"
#include "client/status_macros.h"

namespace locus::client {
namespace {

absl::StatusOr<absl::Duration> ParseTimeout(const std::string& text) {
  absl::Duration timeout;
  double seconds = 0;
  if (absl::SimpleAtod(text, &seconds)) {
    timeout = absl::Seconds(seconds);
  } else if (!absl::ParseDuration(text, &timeout)) {
    timeout = absl::ZeroDuration();
  }
  if (timeout <= absl::ZeroDuration()) {
    return UsageError(
        absl::StrCat("--timeout: \"", text,
                     "\" is not a time; write seconds, or 500ms, 2m"));
  }
  return timeout;
}

}  // namespace

void AddServiceFlags(CLI::App& command, CommonFlags& flags) {
  command
      .add_option("--server", flags.server,
                  flags.server.empty()
                      ? "Where the service is, or several with commas; without "
                        "it, the service runs inside this process"
                      : "Where the service is")
      ->type_name("HOST:PORT")
      ->capture_default_str()
      ->group("Service");
  command.add_option("--timeout", flags.timeout, "How long a call may take")
      ->type_name("TIME")
      ->capture_default_str()
      ->group("Service");
}

void AddCommonFlags(CLI::App& command, CommonFlags& flags) {
  AddServiceFlags(command, flags);
  command.add_flag("--json", flags.json, "Print JSON instead of tables");
}

absl::StatusOr<Session> OpenSession(const CommonFlags& flags,
                                    const RetryPolicy& retry,
                                    absl::Duration keepalive_interval) {
  ClientOptions options;
  options.retry = retry;
  CLIENT_ASSIGN_OR_RETURN(options.timeout, ParseTimeout(flags.timeout));
  options.keepalive_interval = keepalive_interval;
  Session session;
  session.timeout = options.timeout;
  if (!flags.server.empty()) {
    options.address = flags.server;
    CLIENT_ASSIGN_OR_RETURN(session.client, Client::Connect(options));
    return session;
  }
  CLIENT_ASSIGN_OR_RETURN(session.server, StartEmbeddedServer());
  options.address = "the embedded server";
  session.client =
      std::make_unique<Client>(session.server->Channel(options), options);
  return session;
}

}  // namespace locus::client
