// The flags that all commands share, and the client that they configure.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "client/cli/support/cli11_fwd.h"
#include "client/cli/support/embedded_server.h"
#include "locus/client/client.h"

namespace locus::client {

struct CommonFlags {
  // HOST:PORT, or several separated by commas. Empty: the embedded server.
  std::string server;
  // A number of seconds, or a number with a unit: "2", "500ms".
  std::string timeout = "60s";
  bool json = false;
  SecurityOptions security = {};
};

// Adds --server, --timeout and the flags for TLS and bearer tokens.
void AddServiceFlags(CLI::App& command, CommonFlags& flags);
// Adds the flags of AddServiceFlags() and --json.
void AddCommonFlags(CLI::App& command, CommonFlags& flags);

// A client, with the embedded server if the client is connected to it.
struct Session {
  std::unique_ptr<EmbeddedServer> server;
  // Declared after the server, so that it is destroyed first.
  std::unique_ptr<Client> client;
  // The parsed value of --timeout, which is the deadline of each call.
  absl::Duration timeout = absl::ZeroDuration();
};

// Connects to --server, or starts the embedded server if --server is empty.
// Returns a usage error if a flag is invalid.
absl::StatusOr<Session> OpenSession(
    const CommonFlags& flags, const RetryPolicy& retry = {},
    absl::Duration keepalive_interval = absl::InfiniteDuration());

}  // namespace locus::client
