// Groups of options in the help text of a command.
#pragma once

#include <string>

#include "CLI/CLI.hpp"

namespace locus::client {

// Returns a function that adds options to one group of the help text of
// `command`, which must outlive it:
//
//   const auto add = OptionGroup(command, "Model");
//   add("--layers", flags.layer_count, "N", "Number of layers; default 2");
inline auto OptionGroup(CLI::App& command, const char* group) {
  return [&command, group](const char* name, auto& target, const char* type,
                           const std::string& description) {
    return command.add_option(name, target, description)
        ->type_name(type)
        ->group(group);
  };
}

}  // namespace locus::client
