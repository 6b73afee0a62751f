// Options from the command line, the environment and a flag file.
//
// Each option is a flag (--max-queued-calls=9), an environment variable
// (LOCUS_MAX_QUEUED_CALLS=9) and a line of a flag file (max-queued-calls=9,
// with or without leading dashes; # starts a comment). Flags take precedence
// over variables, variables over the file, and the file over the defaults.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "server/config/options.h"

namespace locus::server {

// The result of parsing. If `text` is set (--help, --version, --manual,
// --completion), the program prints it and exits; otherwise it starts a server
// with `options`, which are valid.
struct Command {
  ServerOptions options;
  std::optional<std::string> text;
};

// Returns the value of an environment variable, or nullopt if it is not set.
using Environment =
    std::function<std::optional<std::string>(const std::string& name)>;
// The environment of this process.
Environment ProcessEnvironment();

// Parses `arguments`, which do not contain the program's name. INVALID_ARGUMENT
// names the flag, variable or line of the file, in one line of text.
absl::StatusOr<Command> ParseCommandLine(
    const std::vector<std::string>& arguments, const Environment& environment);

}  // namespace locus::server
