#include "client/cli/support/session.h"

#include <utility>

#include "CLI/CLI.hpp"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "client/base/status_macros.h"
#include "client/cli/support/cli_errors.h"

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
                     "\" is not a positive time; write seconds, 500ms or 2m"));
  }
  return timeout;
}

// Returns an error message, or an empty string if `text` is an address of a
// server or several, separated by commas. gRPC itself would resolve a URL as a
// host name, and connect to port 443 if the port is missing.
std::string CheckAddresses(std::string& text) {
  for (const absl::string_view address : absl::StrSplit(text, ',')) {
    constexpr absl::string_view kRule = "must be HOST:PORT, such as ";
    absl::string_view host = address;
    for (const char* const scheme : {"http://", "https://", "grpc://"}) {
      if (!absl::ConsumePrefix(&host, scheme)) continue;
      const absl::string_view plain = host.substr(0, host.find('/'));
      return absl::StrCat("is ", address, "; ", kRule,
                          plain.empty() ? "localhost:50051" : plain,
                          ", without ", scheme);
    }
    const size_t last = host.empty() ? std::string::npos : host.size() - 1;
    const bool has_port = absl::StrContains(host, ':') && host[last] != ']';
    if (!has_port) {
      return absl::StrCat("is \"", address, "\", which has no port; ", kRule,
                          host.empty() ? "localhost" : host, ":50051");
    }
  }
  return "";
}

// Each flag can be set by an environment variable, so that all commands on one
// machine or in one container, such as its health check, share the settings.
void AddSecurityFlags(CLI::App& command, SecurityOptions& security) {
  command
      .add_flag("--tls", security.tls,
                "Use TLS; implied by --ca, --cert, --key and --server-name")
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
      "CA certificates (PEM) to verify the server with; default: those of the "
      "system");
  add("--cert", security.certificate_file, "LOCUS_CERT", "FILE",
      "Client certificate (PEM) for mutual TLS");
  add("--key", security.key_file, "LOCUS_KEY", "FILE",
      "Private key (PEM) of the client certificate");
  add("--server-name", security.server_name, "LOCUS_SERVER_NAME", "NAME",
      "Name expected in the server's certificate; default: host of --server");
  add("--token-file", security.token_file, "LOCUS_TOKEN_FILE", "FILE",
      "File with a bearer token to send with every call");
  command
      .add_flag("--allow-plaintext-token", security.allow_plaintext_token,
                "Send the token to remote servers without TLS")
      ->envname("LOCUS_ALLOW_PLAINTEXT_TOKEN")
      ->group("Service");
}

}  // namespace

void AddServiceFlags(CLI::App& command, CommonFlags& flags) {
  command
      .add_option("--server", flags.server,
                  flags.server.empty()
                      ? "Address of the server, or of several, separated by "
                        "commas; default: a server inside this process"
                      : "Address of the server")
      ->type_name("HOST:PORT")
      ->check(CLI::Validator(CheckAddresses, ""))
      ->envname("LOCUS_SERVER")
      ->capture_default_str()
      ->group("Service");
  command.add_option("--timeout", flags.timeout, "Deadline of each call")
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
