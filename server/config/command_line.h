// Options from the command line, the environment and a flag file.
//
// Each option is a flag (--max-queued-calls), a variable
// (LOCUS_MAX_QUEUED_CALLS) and a line of a flag file (max-queued-calls=9, with
// or without dashes in front; # begins a comment). A flag wins over a variable,
// a variable over the file, the file over the default.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "server/config/options.h"

namespace locus::server {

// What to do: run with the options, or print the text and be done.
struct Command {
  ServerOptions options;
  std::optional<std::string> text;
};

// The value of an environment variable; nothing if it is not set.
using Environment =
    std::function<std::optional<std::string>(const std::string& name)>;
Environment ProcessEnvironment();

// `arguments` are without the program's name. Errors are one line.
absl::StatusOr<Command> ParseCommandLine(
    const std::vector<std::string>& arguments, const Environment& environment);

}  // namespace locus::server
