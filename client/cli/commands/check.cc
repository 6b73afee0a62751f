#include <memory>

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"
#include "client/cli/commands/command.h"
#include "client/cli/render/json.h"
#include "client/cli/render/property_table.h"
#include "client/cli/requests/scheme_flags.h"
#include "client/cli/requests/scheme_text.h"
#include "client/cli/support/session.h"
#include "client/cli/support/cli_errors.h"
#include "client/base/status_macros.h"

namespace locus::client {
namespace {

constexpr char kExamples[] =
    R"(A property holds if what was measured is at most what is allowed. Exits with 1
if a scheme does not keep a promise.

Examples:
  locus check
  locus check --scheme rope --scheme 'rope { base: 500000 }' --details
  locus check --scheme alibi --naive --json)";

struct CheckFlags {
  CommonFlags common;
  std::vector<std::string> schemes;
  std::vector<std::string> hf_configs;
  bool naive = false;
  bool details = false;
};

absl::StatusOr<Outcome> Run(const CheckFlags& flags) {
  v1::CheckPropertiesRequest request;
  for (const std::string& text : flags.schemes) {
    absl::StatusOr<v1::Scheme> scheme = ParseScheme(text);
    if (!scheme.ok()) return AsUsage(scheme.status(), "--scheme");
    *request.add_schemes() = *std::move(scheme);
  }
  CLIENT_ASSIGN_OR_RETURN(const std::vector<v1::Scheme> configured,
                          ReadConfigs(flags.hf_configs));
  for (const v1::Scheme& scheme : configured) *request.add_schemes() = scheme;
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
      "check", "Put what schemes promise of themselves to the test");
  command->footer(kExamples);
  auto flags = std::make_shared<CheckFlags>();
  command
      ->add_option("-s,--scheme", flags->schemes,
                   "A name, or a scheme in protobuf text form; may be "
                   "repeated; default: all of them")
      ->type_name("SCHEME")
      ->allow_extra_args(false);
  AddConfigsFlag(*command, flags->hf_configs);
  command->add_flag("--naive", flags->naive,
                    "Also check encodings one might try first; default: only "
                    "without --scheme");
  command->add_flag("--details", flags->details,
                    "Say what was done for each verdict");
  AddCommonFlags(*command, flags->common);
  command->callback(
      [flags, &action] { action = [flags] { return Run(*flags); }; });
}

}  // namespace locus::client
