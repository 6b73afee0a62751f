// The commands and flags of the program as data, for what is made of them:
// completion in shells, and the manual.
#pragma once

#include <string>
#include <vector>

#include "client/cli/support/cli11_fwd.h"

namespace locus::client {

struct OptionNode {
  // With dashes, the longest last: "-o", "--out".
  std::vector<std::string> names;
  // What a value is, such as FILE; empty if it takes none.
  std::string value;
  std::string help;
  std::string variable;  // of the environment; may be empty
  // Whether it is given without a name.
  bool positional = false;
};

struct CommandNode {
  std::string name;
  std::string help;
  std::string footer;
  std::vector<OptionNode> options;
  std::vector<CommandNode> commands;
};

CommandNode TreeOf(const CLI::App& app);

// A script for `shell`, which is bash, zsh or fish.
std::string CompletionScript(const CommandNode& tree, const std::string& shell);

// The page of section 1, in the language of man.
std::string ManualPage(const CommandNode& tree, const std::string& version);

}  // namespace locus::client
