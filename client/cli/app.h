// The command line of Locus.
#pragma once

namespace locus::client {

// Runs one command and returns its exit code: 0 done, 1 the server said no or
// cannot be reached or the result cannot be written, 2 wrong usage.
int RunApp(int argc, const char* const* argv);

}  // namespace locus::client
