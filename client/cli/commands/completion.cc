// `locus completion` and `locus manual`. Packages install the output of both,
// which is generated from the flags of the program and so always matches them.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"
#include "client/cli/commands/command.h"
#include "client/cli/requests/scheme_names.h"
#include "client/cli/support/cli_errors.h"
#include "client/cli/support/command_tree.h"
#include "server/base/version.h"

namespace locus::client {
namespace {

// Choices that the description of a flag or argument does not list.
TypeChoices ChoicesByType(const CommandNode& tree) {
  std::vector<std::string> topics = {"connection"};
  for (const CommandNode& command : tree.commands) {
    topics.push_back(command.name);
  }
  return {{"SCHEME", SchemeNames()},
          {"SERVICE", ServiceNames()},
          {"TOPIC", std::move(topics)}};
}

}  // namespace

void AddCompletion(CLI::App& app, Action& action) {
  CLI::App* command =
      app.add_subcommand("completion", "Print a shell completion script");
  command->footer(
      "Examples:\n"
      "  locus completion fish > ~/.config/fish/completions/locus.fish\n"
      "  source <(locus completion bash)");
  auto shell = std::make_shared<std::string>();
  command->add_option("shell", *shell, "Shell: bash, zsh or fish")
      ->type_name("SHELL")
      ->required();
  command->callback([shell, &app, &action] {
    action = [shell, &app]() -> absl::StatusOr<Outcome> {
      if (*shell != "bash" && *shell != "zsh" && *shell != "fish") {
        return UsageError(absl::StrCat("there is no completion script for \"",
                                       *shell, "\"; use bash, zsh or fish"));
      }
      const CommandNode tree = TreeOf(app);
      return Outcome{.text =
                         CompletionScript(tree, ChoicesByType(tree), *shell)};
    };
  });
}

void AddManual(CLI::App& app, Action& action) {
  CLI::App* command =
      app.add_subcommand("manual", "Print the manual page in man format");
  command->footer("Examples:\n  locus manual | man -l -");
  command->callback([&app, &action] {
    action = [&app]() -> absl::StatusOr<Outcome> {
      return Outcome{.text = ManualPage(TreeOf(app), server::Version())};
    };
  });
}

}  // namespace locus::client
