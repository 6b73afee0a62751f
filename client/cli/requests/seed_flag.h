// The flag of a seed.
#pragma once

#include <cstdint>
#include <optional>

#include "client/cli/support/cli11_fwd.h"

namespace locus::client {

// --seed, in decimal and without a sign: -1 would be a very large number.
void AddSeedFlag(CLI::App& command, std::optional<uint64_t>& seed,
                 const char* description, const char* group);

}  // namespace locus::client
