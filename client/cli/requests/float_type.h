// Parsing of --dtype.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "locus/v1/tensor.pb.h"

namespace locus::client {

// The floating-point type of that name. Returns a usage error that lists the
// allowed names for anything else, also for other types of tensors.
absl::StatusOr<v1::DataType> ParseFloatType(const std::string& name);

}  // namespace locus::client
