// `locus help`: the help of the program, of a command, or of a topic.
#include <memory>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/cli/commands/command.h"
#include "client/cli/support/cli_errors.h"
#include "client/cli/support/command_tree.h"
#include "client/cli/support/help_text.h"
#include "client/cli/support/terminal.h"
#include "core/base/suggest.h"

namespace locus::client {
namespace {

constexpr char kConnection[] = "connection";
// The command whose connection flags `locus help connection` describes.
constexpr char kTypicalCommand[] = "schemes";

const CommandNode* FindCommand(const CommandNode& parent,
                               const std::string& name) {
  for (const CommandNode& command : parent.commands) {
    if (command.name == name) return &command;
  }
  return nullptr;
}

absl::StatusOr<Outcome> Run(const CommandNode& tree,
                            const std::vector<std::string>& words) {
  const int width = OutputColumns();
  if (words == std::vector<std::string>{kConnection}) {
    return Outcome{
        .text = ConnectionHelp(*FindCommand(tree, kTypicalCommand), width)};
  }
  const CommandNode* command = &tree;
  std::string path = tree.name;
  for (const std::string& word : words) {
    const CommandNode* const next = FindCommand(*command, word);
    if (next == nullptr) {
      std::vector<std::string> names;
      for (const CommandNode& one : command->commands) {
        names.push_back(one.name);
      }
      if (command == &tree) names.push_back(kConnection);
      return UsageError(absl::StrCat("there is no help on \"", word, "\"",
                                     DidYouMean(word, names), " (see ", path,
                                     " --help)"));
    }
    command = next;
    absl::StrAppend(&path, " ", word);
  }
  return Outcome{.text = HelpText(*command, path, width)};
}

}  // namespace

void AddHelp(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand(
      "help", "Print the help of the program, of a command, or of a topic");
  command->footer(
      "Examples:\n"
      "  locus help\n"
      "  locus help attend\n"
      "  locus help load compare\n"
      "  locus help connection                   # --server, TLS and tokens");
  auto words = std::make_shared<std::vector<std::string>>();
  command
      ->add_option("topic", *words,
                   "Command, or the topic connection; default: the program")
      ->type_name("TOPIC");
  command->callback([words, &app, &action] {
    action = [words, &app] { return Run(TreeOf(app), *words); };
  });
}

}  // namespace locus::client
