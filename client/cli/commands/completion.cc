// `locus completion` and `locus manual` print what packages install, made of
// the program itself, so that it cannot be older than the program.
#include <memory>
#include <string>

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"
#include "client/cli/commands/command.h"
#include "client/cli/support/command_tree.h"
#include "client/cli/support/cli_errors.h"

namespace locus::client {

void AddCompletion(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand(
      "completion", "Print a script that completes commands in a shell");
  command->footer(
      "Examples:\n"
      "  locus completion fish > ~/.config/fish/completions/locus.fish\n"
      "  source <(locus completion bash)");
  auto shell = std::make_shared<std::string>();
  command->add_option("shell", *shell, "bash, zsh or fish")
      ->type_name("SHELL")
      ->required();
  command->callback([shell, &app, &action] {
    action = [shell, &app]() -> absl::StatusOr<Outcome> {
      if (*shell != "bash" && *shell != "zsh" && *shell != "fish") {
        return UsageError(
            absl::StrCat("\"", *shell, "\" is none of bash, zsh, fish"));
      }
      return Outcome{.text = CompletionScript(TreeOf(app), *shell)};
    };
  });
}

void AddManual(CLI::App& app, Action& action) {
  CLI::App* command =
      app.add_subcommand("manual", "Print the manual page, for man");
  command->footer("Examples:\n  locus manual | man -l -");
  command->callback([&app, &action] {
    action = [&app]() -> absl::StatusOr<Outcome> {
      return Outcome{.text = ManualPage(TreeOf(app), LOCUS_VERSION)};
    };
  });
}

}  // namespace locus::client
