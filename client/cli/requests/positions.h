// Positions as they are written on the command line.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "locus/v1/tensor.pb.h"

namespace locus::client {

// "0:16" is 0 up to, not including, 16; "0,5,9" is just those; "@ids.npy" is a
// list of integers in a file.
absl::StatusOr<v1::Positions> ParsePositions(const std::string& text);

// How many there are.
int64_t PositionCount(const v1::Positions& positions);
// The one with that index, which is in range.
int64_t PositionAt(const v1::Positions& positions, int64_t index);

}  // namespace locus::client
