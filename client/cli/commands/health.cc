// `locus health` is what a container's health check runs, hence its own default
// address, which is where the server beside it listens, and a single quick
// attempt.
#include <cstdlib>
#include <memory>

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"
#include "client/cli/commands/command.h"
#include "client/cli/render/json.h"
#include "client/cli/support/local_server_address.h"
#include "client/cli/support/session.h"
#include "client/cli/support/cli_errors.h"
#include "client/base/status_macros.h"
#include "nlohmann/json.hpp"

namespace locus::client {
namespace {

constexpr char kExamples[] =
    R"(Exits with 0 if the service is serving, with 1 if it is not. Without --server
it asks the server of this machine or container, where LOCUS_LISTEN has it
listen.

Examples:
  locus health
  locus health --server localhost:50051 --service locus.v1.AttentionService)";

std::string Variable(const char* name) {
  const char* const value = std::getenv(name);
  return value != nullptr ? value : "";
}

struct HealthFlags {
  CommonFlags common{.server = NeighbourAt(Variable("LOCUS_LISTEN")),
                     .timeout = "5s"};
  std::string service;
};

std::string NameOf(ServingStatus status) {
  switch (status) {
    case ServingStatus::kServing:
      return "SERVING";
    case ServingStatus::kNotServing:
      return "NOT_SERVING";
    case ServingStatus::kUnknown:
      break;
  }
  return "UNKNOWN";
}

absl::StatusOr<Outcome> Run(const HealthFlags& flags) {
  if (flags.common.server.empty()) {
    return UsageError("--server: is empty; must be HOST:PORT");
  }
  CLIENT_ASSIGN_OR_RETURN(const Session session,
                          OpenSession(flags.common, {.max_attempts = 1}));
  CLIENT_ASSIGN_OR_RETURN(const ServingStatus status,
                          session.client->CheckHealth(flags.service));
  Outcome outcome{.exit_code = status == ServingStatus::kServing ? 0 : 1};
  if (flags.common.json) {
    const nlohmann::ordered_json document = {{"server", flags.common.server},
                                             {"service", flags.service},
                                             {"status", NameOf(status)}};
    outcome.text = JsonLine(document);
  } else {
    outcome.text =
        absl::StrCat(flags.common.server, " ", flags.service,
                     flags.service.empty() ? "" : " ", NameOf(status), "\n");
  }
  return outcome;
}

}  // namespace

void AddHealth(CLI::App& app, Action& action) {
  CLI::App* command =
      app.add_subcommand("health", "Ask a server whether it is serving");
  command->footer(kExamples);
  auto flags = std::make_shared<HealthFlags>();
  command
      ->add_option("--service", flags->service,
                   "Ask about one service instead of all of them")
      ->type_name("NAME");
  AddCommonFlags(*command, flags->common);
  command->callback(
      [flags, &action] { action = [flags] { return Run(*flags); }; });
}

}  // namespace locus::client
