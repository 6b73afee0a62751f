// Naive position encodings, as examples that fail some of the checks.
//
//   integer     code(p) = p            grows without bound
//   normalised  code(p) = p / length   a code depends on the sequence length
//   one_hot     code(p) = e_p          all codes are equally far apart, and the
//                                      width limits the number of positions
//
// They are not registered as schemes, and are measured by the same checks.
#pragma once

#include <array>
#include <vector>

#include "absl/types/span.h"
#include "core/encoding/scheme.h"
#include "core/properties/properties.h"

namespace locus {

// Promises about length_independence, smoothness and open_ended, in this order;
// see code_rules.h.
inline constexpr int kCodeRuleCount = 3;
using CodeRulePromises = std::array<Promise, kCodeRuleCount>;

struct NaiveEncoding {
  SchemeInfo info;
  CodeRulePromises code_rules;
};

absl::Span<const NaiveEncoding> NaiveEncodings();

// Results of CheckProperties(), followed by those of CheckCodeRules().
std::vector<PropertyResult> CheckNaive(const NaiveEncoding& encoding);

// Measures the three code rules of any scheme.
std::vector<PropertyResult> CheckCodeRules(const Scheme& scheme,
                                           const CodeRulePromises& promises);

}  // namespace locus
