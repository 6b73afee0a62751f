#include <memory>

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"
#include "client/base/status_macros.h"
#include "client/cli/commands/command.h"
#include "client/cli/render/json.h"
#include "client/cli/render/property_table.h"
#include "client/cli/requests/scheme_flags.h"
#include "client/cli/support/cli_errors.h"
#include "client/cli/support/session.h"

namespace locus::client {
namespace {

constexpr char kCheckExamples[] =
    R"(Every scheme promises some properties and not others. A property holds if the
measured value is at most the allowed one. Exits with 1 if a promise is broken.

Examples:
  locus check
  locus check rope rope:base=500000 --details
  locus check alibi --naive --json)";

struct CheckFlags {
  CommonFlags common;
  std::vector<std::string> schemes;
  std::vector<std::string> hf_configs;
  bool naive = false;
  bool details = false;
};

absl::StatusOr<Outcome> Run(const CheckFlags& flags) {
  v1::CheckPropertiesRequest request;
  CLIENT_ASSIGN_OR_RETURN(const std::vector<v1::Scheme> schemes,
                          ReadSchemes(flags.schemes, flags.hf_configs));
  for (const v1::Scheme& scheme : schemes) *request.add_schemes() = scheme;
  if (flags.naive) request.set_naive(true);
  CLIENT_ASSIGN_OR_RETURN(const Session session, OpenSession(flags.common));
  const absl::StatusOr<v1::CheckPropertiesResponse> response =
      session.client->CheckProperties(request);
  if (!response.ok()) {
    return WithFlagHint(response.status(), {{"schemes", "--scheme"}});
  }
  Outcome outcome{.exit_code = BrokenPromises(*response) > 0 ? 1 : 0};
  if (flags.common.json) {
    CLIENT_ASSIGN_OR_RETURN(outcome.text, MessageJson(*response));
  } else {
    outcome.text = FormatProperties(*response, {.details = flags.details});
  }
  return outcome;
}

}  // namespace

void AddCheck(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand(
      "check", "Measure the properties that schemes declare");
  command->footer(kCheckExamples);
  auto flags = std::make_shared<CheckFlags>();
  AddSchemesFlag(*command, flags->schemes,
                 "Schemes or config.json files; default: all schemes");
  AddConfigsFlag(*command, flags->hf_configs);
  command->add_flag("--naive", flags->naive,
                    "Also check naive encodings, such as plain integers; "
                    "default: only without --scheme");
  command->add_flag("--details", flags->details,
                    "Also print the numbers and the case behind each verdict");
  AddCommonFlags(*command, flags->common);
  command->callback(
      [flags, &action] { action = [flags] { return Run(*flags); }; });
}

}  // namespace locus::client
