// Measures the declared properties of position schemes.
//
// A scheme promises properties (see Promises in core/encoding/scheme.h).
// CheckProperties() measures each of them on a small worked case and reports
// the measured number beside its tolerance. The measurement does not use the
// promise, so that a false promise is detected.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/encoding/scheme.h"
#include "core/parallel/cancellation.h"

namespace locus {

enum class Verdict { kHolds, kFails, kUndefined };

struct PropertyResult {
  std::string property;
  Verdict verdict = Verdict::kUndefined;
  // Measured deviation. The property holds if it is at most `tolerance`. Always
  // finite: infinite and NaN deviations fail and are reported as 1e308.
  double measured = 0;
  double tolerance = 0;
  Promise::Answer promise = Promise::Answer::kNotApplicable;
  // Whether the verdict agrees with the promise. True if the scheme's
  // parameters do not permit the check, since nothing was measured.
  bool as_promised = true;
  // Description of the check and its result, for people.
  std::string worked_case;
};

// Measures all properties of a scheme and compares them with `promises`. The
// results are in the order of Property, followed by the further worked cases
// that apply to the scheme: `slopes_geometric` for biases with slopes, and
// `worked_dot_products` for additive codes with a linear shift.
//
// Values that the caller specified, such as a table or slopes, may have more
// properties than the scheme promises, and need not be bounded, unique,
// decaying, smooth or distinct at any length. The promise of such a property
// counts as not applicable, and `worked_case` says so.
//
// Deterministic; takes a few milliseconds and megabytes. The scheme is compiled
// about 50 times, so that schemes which take milliseconds to compile, such as a
// bias with thousands of buckets, take longer. `stop` is polled between checks;
// a status other than OK is returned.
absl::StatusOr<std::vector<PropertyResult>> CheckProperties(
    const Scheme& scheme, const Promises& promises,
    const CancellationCheck& stop);

}  // namespace locus
