// The --seed flag.
#pragma once

#include <cstdint>
#include <optional>

#include "client/cli/support/cli11_fwd.h"

namespace locus::client {

// Adds --seed, a decimal integer without a sign. CLI11 alone would read -1 as
// 2^64 - 1.
void AddSeedFlag(CLI::App& command, std::optional<uint64_t>& seed,
                 const char* description, const char* group);

}  // namespace locus::client
