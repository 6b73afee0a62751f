#include "client/cli/support/command_tree.h"

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"

namespace locus::client {
namespace {

OptionNode NodeOf(const CLI::Option& option) {
  OptionNode node{.help = option.get_description(),
                  .variable = option.get_envname(),
                  .positional = option.nonpositional() == false};
  for (const std::string& name : option.get_snames()) {
    node.names.push_back(absl::StrCat("-", name));
  }
  for (const std::string& name : option.get_lnames()) {
    node.names.push_back(absl::StrCat("--", name));
  }
  if (node.positional) node.names = {option.get_name(true)};
  // Boolean flags expect no items.
  if (option.get_items_expected_max() != 0) {
    node.value = option.get_type_name();
    if (node.value.empty()) node.value = "VALUE";
  }
  return node;
}

}  // namespace

CommandNode TreeOf(const CLI::App& app) {
  CommandNode node{.name = app.get_name(),
                   .help = app.get_description(),
                   .footer = app.get_footer()};
  for (const CLI::Option* option : app.get_options()) {
    // Options with an empty group are hidden from the help.
    if (!option->get_group().empty()) node.options.push_back(NodeOf(*option));
  }
  for (const CLI::App* command : app.get_subcommands({})) {
    node.commands.push_back(TreeOf(*command));
  }
  return node;
}

}  // namespace locus::client
