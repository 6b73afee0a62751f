// The properties of position schemes, measured.
//
// A scheme promises properties (see Promises). Here each is put to the test on
// a small worked case, and the number that decides is reported beside what it
// was held to. Nothing is taken from the promise: a scheme that breaks its word
// is found out.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/parallel/cancellation.h"
#include "core/encoding/scheme.h"

namespace locus {

enum class Verdict { kHolds, kFails, kNotApplicable };

struct PropertyResult {
  std::string property;
  Verdict verdict = Verdict::kNotApplicable;
  // The property holds if what was measured is at most the tolerance. Always
  // finite: what is infinite or no number fails, and is reported as 1e308.
  double measured = 0;
  double tolerance = 0;
  Promise::Answer promise = Promise::Answer::kNotApplicable;
  // Whether the verdict is what was promised. True if the case cannot be run
  // with the scheme's parameters: nothing was measured that speaks against it.
  bool as_promised = true;
  // What was done and what came out, in words.
  std::string worked_case;
};

// All properties of a scheme in the order of Property, and then those worked
// cases that apply to it: `slopes_geometric` for biases with slopes and
// `worked_dot_products` for codes whose shift is linear. `promises` are only
// compared with.
//
// Numbers that the caller gave, a table or slopes, may show more than the
// scheme promises, or not be bounded, unique or falling: that breaks no
// promise, which then counts as not applicable, and the words say so.
//
// The same numbers every time, in a few milliseconds and megabytes. A scheme is
// compiled about 30 times, however far it reaches: one whose compiling itself
// takes milliseconds, such as a bias of thousands of buckets, takes longer.
// `stop` is asked between cases, and what it says is returned.
absl::StatusOr<std::vector<PropertyResult>> CheckProperties(
    const Scheme& scheme, const Promises& promises, const StopCheck& stop);

}  // namespace locus
