#include <memory>
#include <string>

#include "CLI/CLI.hpp"
#include "client/cli/commands/command.h"
#include "client/cli/render/json.h"
#include "locus_build_info.h"
#include "nlohmann/json.hpp"

namespace locus::client {

std::string VersionLine() {
  return "locus " LOCUS_VERSION " (commit " LOCUS_COMMIT "; " LOCUS_BUILD ")";
}

void AddVersion(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand("version", "Print the version");
  command->footer("Examples:\n  locus version\n  locus version --json");
  auto json = std::make_shared<bool>(false);
  command->add_flag("--json", *json, "Print JSON instead of text");
  command->callback([json, &action] {
    action = [json]() -> absl::StatusOr<Outcome> {
      if (!*json) return Outcome{.text = VersionLine() + "\n"};
      const nlohmann::ordered_json document = {{"version", LOCUS_VERSION},
                                               {"commit", LOCUS_COMMIT},
                                               {"build", LOCUS_BUILD}};
      return Outcome{.text = JsonLine(document)};
    };
  });
}

}  // namespace locus::client
