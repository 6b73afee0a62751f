// Compatibility of two versions of the contract (the .proto files).
#pragma once

#include <string>
#include <vector>

#include "google/protobuf/descriptor.h"

namespace locus {

// Incompatible changes from the file `before` to the pool `after`: one line for
// each message, field, enum value, service or method that was removed or
// changed. Additions are compatible. Types are found in `after` by their full
// names.
std::vector<std::string> IncompatibleChanges(
    const google::protobuf::FileDescriptor& before,
    const google::protobuf::DescriptorPool& after);

}  // namespace locus
