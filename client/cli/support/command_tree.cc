#include "client/cli/support/command_tree.h"

#include "CLI/CLI.hpp"
#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"

namespace locus::client {
namespace {

bool IsName(absl::string_view word) {
  return !word.empty() && absl::ascii_islower(word[0]) &&
         absl::c_all_of(word, [](char c) {
           return absl::ascii_islower(c) || absl::ascii_isdigit(c) ||
                  c == '-' || c == '_';
         });
}

OptionNode NodeOf(const CLI::Option& option) {
  OptionNode node{.help = option.get_description(),
                  .variable = option.get_envname(),
                  .group = option.get_group(),
                  .default_value = option.get_default_str(),
                  .positional = option.nonpositional() == false,
                  .required = option.get_required(),
                  .repeated = option.get_expected_max() > 1};
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
    node.choices = ChoicesIn(node.help);
  }
  for (const CLI::Option* other : option.get_excludes()) {
    node.excludes.push_back(other->get_name());
  }
  return node;
}

}  // namespace

std::vector<std::string> ChoicesIn(absl::string_view description) {
  const size_t colon = description.find(": ");
  if (colon == description.npos) return {};
  absl::string_view list = description.substr(colon + 2);
  list = list.substr(0, list.find(';'));
  std::vector<std::string> choices = absl::StrSplit(
      absl::StrReplaceAll(list, {{", or ", ", "}, {" or ", ", "}}), ", ");
  if (choices.size() < 2 || !absl::c_all_of(choices, IsName)) return {};
  return choices;
}

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
