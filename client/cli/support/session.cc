#include "client/cli/support/session.h"

#include <utility>

#include "CLI/CLI.hpp"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "client/cli/support/cli_errors.h"
#include "client/base/status_macros.h"

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

// The variables are for what every command of a place has in common, such as a
// container's health check.
void AddSecurityFlags(CLI::App& command, SecurityOptions& security) {
  command.add_flag("--tls", security.tls, "Use TLS, as the others here imply")
      ->envname("LOCUS_TLS")
      ->group("Service");
  const auto add = [&command](const char* name, std::string& value,
                              const char* variable, const char* type,
                              const char* help) {
    command.add_option(name, value, help)
        ->type_name(type)
        ->envname(variable)
        ->group("Service");
  };
  add("--ca", security.ca_file, "LOCUS_CA", "FILE",
      "Who may certify the server; without it, whom the system trusts");
  add("--cert", security.certificate_file, "LOCUS_CERT", "FILE",
      "The certificate to show to the server");
  add("--key", security.key_file, "LOCUS_KEY", "FILE", "Its key");
  add("--server-name", security.server_name, "LOCUS_SERVER_NAME", "NAME",
      "The name in the server's certificate, if not that of --server");
  add("--token-file", security.token_file, "LOCUS_TOKEN_FILE", "FILE",
      "A bearer token for every call");
  command
      .add_flag("--allow-plaintext-token", security.allow_plaintext_token,
                "Send the token to other machines without TLS")
      ->envname("LOCUS_ALLOW_PLAINTEXT_TOKEN")
      ->group("Service");
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
      ->envname("LOCUS_SERVER")
      ->capture_default_str()
      ->group("Service");
  command.add_option("--timeout", flags.timeout, "How long a call may take")
      ->type_name("TIME")
      ->capture_default_str()
      ->group("Service");
  AddSecurityFlags(command, flags.security);
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
    options.security = flags.security;
    auto client = Client::Connect(options);
    if (!client.ok()) return AsUsage(client.status());
    session.client = *std::move(client);
    return session;
  }
  CLIENT_ASSIGN_OR_RETURN(session.server, StartEmbeddedServer());
  options.address = "the embedded server";
  session.client =
      std::make_unique<Client>(session.server->Channel(options), options);
  return session;
}

}  // namespace locus::client
