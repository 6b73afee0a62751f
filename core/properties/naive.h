// Naive position encodings, as examples that fail some of the checks.
//
//   integer     code(p) = p            grows without bound
//   normalised  code(p) = p / length   a code depends on the sequence length
//   one_hot     code(p) = e_p          all codes are equally far apart, and the
//                                      width limits the number of positions
//
// They are not registered as schemes, and are measured by the same checks.
#pragma once

#include <vector>

#include "absl/types/span.h"
#include "core/encoding/scheme.h"
#include "core/properties/properties.h"

namespace locus {

absl::Span<const SchemeInfo> NaiveEncodings();

// Results of CheckProperties() for a naive encoding.
std::vector<PropertyResult> CheckNaive(const SchemeInfo& encoding);

}  // namespace locus
