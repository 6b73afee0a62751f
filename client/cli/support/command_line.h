// The command line of this process, for the metadata of pictures and reports.
#pragma once

#include <string>

#include "absl/strings/string_view.h"

namespace locus::client {

// Returns an argument as a POSIX shell reads it: in single quotes if it
// contains anything but letters, digits and a few harmless characters.
std::string ShellQuoted(absl::string_view argument);

// Returns a command line that runs the program again. The first element of
// `argv`, which depends on where the program is installed, becomes "locus".
std::string ShellCommand(int argc, const char* const* argv);

// Remembers the command line of the process. Called once, before threads exist.
void SetCommandLine(int argc, const char* const* argv);

// Returns the remembered command line; empty if there is none, as in tests.
const std::string& CommandLine();

}  // namespace locus::client
