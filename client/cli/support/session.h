// The flags that every command has, and the client they call for.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "client/cli/support/cli11_fwd.h"
#include "client/cli/support/embedded_server.h"
#include "locus/client/client.h"

namespace locus::client {

struct CommonFlags {
  // Empty: a server inside this process.
  std::string server;
  // Seconds, or with a unit: "2", "500ms".
  std::string timeout = "60s";
  bool json = false;
  SecurityOptions security = {};
};

// --server, --timeout, and those of TLS and tokens.
void AddServiceFlags(CLI::App& command, CommonFlags& flags);
// Those and --json.
void AddCommonFlags(CLI::App& command, CommonFlags& flags);

// A client, and the embedded server if it talks to one.
struct Session {
  std::unique_ptr<EmbeddedServer> server;
  // After the server, so that it goes first.
  std::unique_ptr<Client> client;
  // Of a call, as the flags say.
  absl::Duration timeout = absl::ZeroDuration();
};

// A usage error if a flag makes no sense.
absl::StatusOr<Session> OpenSession(
    const CommonFlags& flags, const RetryPolicy& retry = {},
    absl::Duration keepalive_interval = absl::InfiniteDuration());

}  // namespace locus::client
