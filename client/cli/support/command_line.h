// The command line of the program, for reports that say how they were made.
#pragma once

#include <string>

namespace locus::client {

// Records the command line. Called once, before commands run.
void RecordCommandLine(int argc, const char* const* argv);

// Returns the recorded command line as text to paste into a shell: arguments
// with special characters are quoted, and the program is called `locus`. Values
// of flags that hold secrets are never part of the command line; tokens are
// read from files. Empty if nothing was recorded.
const std::string& RecordedCommandLine();

// Returns an argument with quotes for a POSIX shell, if it needs them.
std::string ShellQuoted(const std::string& argument);

}  // namespace locus::client
