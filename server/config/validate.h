// Validation of server options, and defaults that depend on the machine.
#pragma once

#include "absl/status/status.h"
#include "server/config/options.h"

namespace locus::server {

// Returns OK if a server can start with `options`. Otherwise INVALID_ARGUMENT
// names the flag of the first invalid option, its value and the allowed range.
// Does not read the files that the options name.
absl::Status Validate(const ServerOptions& options);

// Returns `options` with each 0 that stands for a default of the machine
// replaced by that default.
ServerOptions WithDefaults(ServerOptions options);

}  // namespace locus::server
