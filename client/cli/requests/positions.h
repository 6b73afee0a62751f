// Parsing of position lists on the command line.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "locus/v1/tensor.pb.h"

namespace locus::client {

// Parses "0:16" (0 up to, but not including, 16), "0,5,9", or "@ids.npy" (a
// .npy file of integers). Returns INVALID_ARGUMENT for anything else.
absl::StatusOr<v1::Positions> ParsePositions(const std::string& text);

// The number of positions.
int64_t PositionCount(const v1::Positions& positions);
// The position at `index`, which must be less than PositionCount().
int64_t PositionAt(const v1::Positions& positions, int64_t index);

}  // namespace locus::client
