// Names of the schemes of a request in its results.
//
// A label is used as it is. Without a label, the name is that of the kind
// (`rope`, `rope+none` with layers, `rope_randomized`). If several schemes
// without a label have the same kind, the parameters in which they differ are
// appended:
//
//   rope base=10000, rope base=500000, rope yarn×4
//
// A name contains the differing parameters that are not at their default. If
// all are, or if names would be equal, it contains all differing parameters.
// Equal schemes are numbered: rope (1), rope (2).
#pragma once

#include <vector>

#include "absl/status/status.h"
#include "server/services/convert/convert_evaluation.h"

namespace locus::server {

// Replaces the names of the schemes, which are those of their kinds, by unique
// ones. INVALID_ARGUMENT names the label that is too long, contains control
// characters or is not unique, such as `schemes[2].label`.
absl::Status NameSchemes(std::vector<NamedScheme>* schemes);

}  // namespace locus::server
