// The commands and flags of the program as data. The help texts (help_text.cc),
// the shell completion scripts (completion_scripts.cc) and the manual page
// (manual_page.cc) are generated from this tree.
#pragma once

#include <map>
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
  // The heading of the help text below which the flag is listed.
  std::string group;
  // The default that the parser knows; empty if `help` states it.
  std::string default_value;
  // The values that can be given, if they are a short list; see ChoicesIn().
  std::vector<std::string> choices;
  // Flags that cannot be given together with this one.
  std::vector<std::string> excludes;
  // Whether this is an argument without a name.
  bool positional = false;
  bool required = false;
  // Whether several values can be given.
  bool repeated = false;
};

// The program, a command or a subcommand.
struct CommandNode {
  std::string name;
  std::string help;
  std::string footer;
  std::vector<OptionNode> options;
  std::vector<CommandNode> commands;
};

// The group of the flags that select a server and secure the connection. Help
// texts and the manual page describe them once for all commands.
inline constexpr char kConnectionGroup[] = "Service";

// Builds the tree of `app` and all of its commands. Hidden flags are left out.
CommandNode TreeOf(const CLI::App& app);

// The values that a description lists after its first colon, as in "Theme of
// the chart: auto, light or dark". Empty if no list of at least two names
// follows the colon. Shells complete these values, so that a new value needs to
// be added to the description only.
std::vector<std::string> ChoicesIn(absl::string_view description);

// Choices for all values of a type, such as the names of schemes for SCHEME.
using TypeChoices = std::map<std::string, std::vector<std::string>>;

// The completion script for `shell`, which must be bash, zsh or fish. It
// completes files, and values for which the tree or `types` lists choices.
std::string CompletionScript(const CommandNode& tree, const TypeChoices& types,
                             const std::string& shell);

// The manual page of section 1 in man(7) format.
std::string ManualPage(const CommandNode& tree, absl::string_view version);

}  // namespace locus::client
