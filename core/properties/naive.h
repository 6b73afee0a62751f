// Encodings that one might try first, and what is wrong with them.
//
//   integer     code(p) = p            grows without bound
//   normalised  code(p) = p / length   a position's code depends on the length
//   one_hot     code(p) = e_p          neighbours are as far apart as
//   strangers,
//                                      and the width is a maximum
//
// They are no schemes, and fail the same checks that schemes pass.
#pragma once

#include <array>
#include <vector>

#include "absl/types/span.h"
#include "core/encoding/scheme.h"
#include "core/properties/properties.h"

namespace locus {

// length_independence: a position has the same code in sequences of any length.
// smoothness: a step in position is a small step in the code.
// open_ended: there is a code of its own for every position.
inline constexpr int kCodeRuleCount = 3;
using CodeRulePromises = std::array<Promise, kCodeRuleCount>;

struct NaiveEncoding {
  SchemeInfo info;
  CodeRulePromises code_rules;
};

absl::Span<const NaiveEncoding> NaiveEncodings();

// The properties of schemes and then the three rules.
std::vector<PropertyResult> CheckNaive(const NaiveEncoding& encoding);

// The three rules alone, of any scheme.
std::vector<PropertyResult> CheckCodeRules(const Scheme& scheme,
                                           const CodeRulePromises& promises);

}  // namespace locus
