// Schemes as they are written on the command line: protobuf text form, with two
// conveniences. A bare name is a scheme with its defaults, and choices may be
// written without the prefix that the contract's enum values carry:
//
//   rope
//   rope { base: 500000 layout: HALF_SPLIT }
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "locus/v1/scheme.pb.h"

namespace locus::client {

// INVALID_ARGUMENT says at which line and column the text stops making sense,
// and what would make sense there.
absl::StatusOr<v1::Scheme> ParseScheme(const std::string& text);

// Of all schemes of the contract, in its order.
std::vector<std::string> SchemeNames();

// Of one; empty if none is set.
std::string SchemeName(const v1::Scheme& scheme);

// Makes `table` the table of the scheme. INVALID_ARGUMENT if it has none.
absl::Status SetTable(const v1::Tensor& table, v1::Scheme* scheme);

}  // namespace locus::client
