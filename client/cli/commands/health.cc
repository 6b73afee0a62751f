// `locus health`. Container health checks run this command, so it defaults to
// the address of the local server and makes a single attempt with a short
// deadline.
#include <cstdlib>
#include <memory>

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/base/status_macros.h"
#include "client/cli/commands/command.h"
#include "client/cli/render/json.h"
#include "client/cli/support/cli_errors.h"
#include "client/cli/support/local_server_address.h"
#include "client/cli/support/session.h"
#include "core/base/suggest.h"
#include "locus/v1/attention.pb.h"
#include "locus/v1/encoding.pb.h"
#include "locus/v1/evaluation.pb.h"
#include "nlohmann/json.hpp"

namespace locus::client {
namespace {

constexpr char kHealthExamples[] =
    R"(Exits with 0 if the service is serving and with 1 otherwise. The default of
--server is the local server at the address of LOCUS_LISTEN.

Examples:
  locus health
  locus health --server localhost:50051 --service locus.v1.AttentionService)";

std::string EnvironmentVariable(const char* name) {
  const char* const value = std::getenv(name);
  return value != nullptr ? value : "";
}

struct HealthFlags {
  CommonFlags common{
      .server = LocalServerAddress(EnvironmentVariable("LOCUS_LISTEN")),
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

// Replaces the server's "service name unknown" by the names that it knows.
absl::Status UnknownService(const std::string& service, Client& client) {
  std::vector<std::string> known;
  for (const std::string& name : ServiceNames()) {
    if (client.CheckHealth(name).ok()) known.push_back(name);
  }
  return absl::NotFoundError(absl::StrCat(
      "the server has no service \"", service, "\"", DidYouMean(service, known),
      " (services: ", absl::StrJoin(known, ", "), ")"));
}

absl::StatusOr<Outcome> Run(const HealthFlags& flags) {
  if (flags.common.server.empty()) {
    return UsageError("--server: is empty; must be HOST:PORT");
  }
  CLIENT_ASSIGN_OR_RETURN(const Session session,
                          OpenSession(flags.common, {.max_attempts = 1}));
  const absl::StatusOr<ServingStatus> checked =
      session.client->CheckHealth(flags.service);
  if (absl::IsNotFound(checked.status())) {
    return UnknownService(flags.service, *session.client);
  }
  CLIENT_ASSIGN_OR_RETURN(const ServingStatus status, checked);
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

std::vector<std::string> ServiceNames() {
  std::vector<std::string> names;
  for (const google::protobuf::Descriptor* message :
       {v1::EncodeRequest::descriptor(), v1::AttendRequest::descriptor(),
        v1::CheckPropertiesRequest::descriptor()}) {
    for (int i = 0; i < message->file()->service_count(); ++i) {
      names.push_back(message->file()->service(i)->full_name());
    }
  }
  return names;
}

void AddHealth(CLI::App& app, Action& action) {
  CLI::App* command =
      app.add_subcommand("health", "Check whether a server is serving");
  command->footer(kHealthExamples);
  auto flags = std::make_shared<HealthFlags>();
  command
      ->add_option("--service", flags->service,
                   "Check one service instead of the whole server")
      ->type_name("SERVICE");
  AddCommonFlags(*command, flags->common);
  command->callback(
      [flags, &action] { action = [flags] { return Run(*flags); }; });
}

}  // namespace locus::client
