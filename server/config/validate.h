// What options are allowed, and what their zeros mean.
#pragma once

#include "absl/status/status.h"
#include "server/config/options.h"

namespace locus::server {

// INVALID_ARGUMENT names the option as a flag, its value and what is allowed.
absl::Status Validate(const ServerOptions& options);

// The options with every default of zero replaced by this machine's.
ServerOptions WithDefaults(ServerOptions options);

}  // namespace locus::server
