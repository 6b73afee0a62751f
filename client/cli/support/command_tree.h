// The commands and flags of the program as data. The shell completion scripts
// (completion_scripts.cc) and the manual page (manual_page.cc) are generated
// from this tree.
#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "client/cli/support/cli11_fwd.h"

namespace locus::client {

// A flag, or an argument without a name.
struct OptionNode {
  // Short names first, with dashes: "-o", "--out". An argument has one name
  // without dashes.
  std::vector<std::string> names;
  // The type of the value, such as FILE; empty for flags without a value.
  std::string value;
  std::string help;
  // The environment variable that sets the flag; empty if there is none.
  std::string variable;
  // Whether this is an argument without a name.
  bool positional = false;
};

// The program, a command or a subcommand.
struct CommandNode {
  std::string name;
  std::string help;
  std::string footer;
  std::vector<OptionNode> options;
  std::vector<CommandNode> commands;
};

// Builds the tree of `app` and all of its commands. Hidden flags are left out.
CommandNode TreeOf(const CLI::App& app);

// The completion script for `shell`, which must be bash, zsh or fish.
std::string CompletionScript(const CommandNode& tree, const std::string& shell);

// The manual page of section 1 in man(7) format.
std::string ManualPage(const CommandNode& tree, absl::string_view version);

}  // namespace locus::client
