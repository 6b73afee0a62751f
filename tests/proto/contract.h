// Whether a contract still keeps the promises of an earlier one.
#pragma once

#include <string>
#include <vector>

#include "google/protobuf/descriptor.h"

namespace locus {

// What callers of `before` would miss in `after`: one line for each message,
// field, enum value or method that is gone or changed. Additions are no breach.
// Types are looked up in the pool of `after` by their full names.
std::vector<std::string> BrokenPromises(
    const google::protobuf::FileDescriptor& before,
    const google::protobuf::DescriptorPool& after);

}  // namespace locus
