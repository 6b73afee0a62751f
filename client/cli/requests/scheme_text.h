// Parsing of schemes on the command line: protobuf text format with two
// abbreviations. A bare name is a scheme with its defaults, and enum values may
// be written without the prefix that they have in the proto:
//
//   rope
//   rope { base: 500000 layout: HALF_SPLIT }
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "locus/v1/scheme.pb.h"

namespace locus::client {

// Parses a scheme. Returns INVALID_ARGUMENT with the line and column of the
// first error and the names that are allowed there.
absl::StatusOr<v1::Scheme> ParseScheme(const std::string& text);

// The names of all schemes, in the order of the proto.
std::vector<std::string> SchemeNames();

// The name of a scheme; empty if none is set.
std::string SchemeName(const v1::Scheme& scheme);

// Sets the table of the scheme. Returns INVALID_ARGUMENT if the scheme takes
// none.
absl::Status SetTable(const v1::Tensor& table, v1::Scheme* scheme);

}  // namespace locus::client
