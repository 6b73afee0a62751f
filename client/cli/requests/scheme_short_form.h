// The short form of schemes on the command line, parsed along the descriptors
// of the proto:
//
//   rope:base=500000,yarn.factor=4        rope(base=5e5, yarn(factor=4))
//   alibi:symmetric                       rope yarn=4 layout=half-split
//   alibi:slopes=[0.5,0.25]               yarn(factor=4, base=5e5)
//
// A group with a number (`yarn=4`, `yarn×4`) sets the factor of the group. A
// flag without a value is true. Parameters are separated by commas or spaces.
#pragma once

#include <cstddef>
#include <optional>
#include <set>

#include "absl/strings/string_view.h"
#include "client/cli/requests/scheme_error.h"
#include "client/cli/requests/scheme_names.h"
#include "google/protobuf/descriptor.h"
#include "locus/v1/scheme.pb.h"

namespace locus::client {

// Parses the parameters of the scheme `name`, which end at the end of `text`
// and begin at `offset`, after the name. Sets `*scheme` and adds the fields
// that the text sets to `*given`. Returns the first error, or nullopt.
std::optional<SchemeError> ParseShortForm(
    absl::string_view text, size_t offset, const NamedScheme& name,
    v1::Scheme* scheme,
    std::set<const google::protobuf::FieldDescriptor*>* given);

}  // namespace locus::client
