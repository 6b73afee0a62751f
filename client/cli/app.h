// The `locus` command-line program.
#pragma once

namespace locus::client {

// Parses the command line, runs one command and returns its exit code: 0 for
// success, 1 if the call failed, a check failed or the output cannot be
// written, 2 for a usage error, 128 + signal after an interrupt.
int RunApp(int argc, const char* const* argv);

}  // namespace locus::client
