// The commands below `locus load`.
#pragma once

#include "client/cli/support/cli11_fwd.h"
#include "client/cli/commands/command.h"

namespace locus::client {

void AddLoadCompare(CLI::App& load, Action& action);

}  // namespace locus::client
