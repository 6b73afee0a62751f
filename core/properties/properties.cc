#include "core/properties/properties.h"

#include <optional>

#include "absl/strings/str_cat.h"
#include "core/base/status.h"
#include "core/properties/attention_properties.h"
#include "core/properties/code_rules.h"
#include "core/properties/encoding_properties.h"
#include "core/properties/property_case.h"

namespace locus {
namespace {

CheckOutcome Measure(Property property, const Scheme& scheme) {
  switch (property) {
    case Property::kPermutationEquivariance:
      return PermutationEquivariance(scheme);
    case Property::kJointEquivariance:
      return JointEquivariance(scheme);
    case Property::kShiftInvariance:
      return ShiftInvariance(scheme);
    case Property::kLinearShift:
      return LinearShift(scheme);
    case Property::kRelativeRotation:
      return RelativeRotation(scheme);
    case Property::kNormPreservation:
      return NormPreservation(scheme);
    case Property::kBoundedness:
      return Boundedness(scheme);
    case Property::kUniqueness:
      return Uniqueness(scheme);
    case Property::kMonotonicDecay:
      return MonotonicDecay(scheme);
    case Property::kSmoothness:
      return Smoothness(scheme);
    case Property::kLengthIndependence:
      return LengthIndependence(scheme);
    case Property::kOpenEndedness:
      return OpenEndedness(scheme);
    case Property::kDeterminism:
      return Determinism(scheme);
  }
  return {};
}

// Returns true if the measured values were specified by the caller rather than
// computed by the scheme: parameters for a number of heads, or a table of one
// width.
bool HasUserValues(const Scheme& scheme) {
  return scheme.is_user_specified() || scheme.head_count() != 0 ||
         (scheme.table_length() != 0 && scheme.dim() != 0);
}

// Returns true if the values of a scheme decide whether it has the property,
// rather than its formula.
bool DependsOnValues(Property property) {
  return property == Property::kBoundedness ||
         property == Property::kUniqueness ||
         property == Property::kMonotonicDecay ||
         property == Property::kSmoothness ||
         property == Property::kOpenEndedness;
}

// Marks a broken promise as not applicable if the values that the caller
// specified decide it: they may have more properties than promised, and need
// not be bounded, unique, decaying, smooth or distinct.
void WaiveForUserValues(Property property, PropertyResult* result) {
  if (result->as_promised) return;
  const bool exceeds = result->promise == Promise::Answer::kNo &&
                       result->verdict == Verdict::kHolds;
  const bool falls_short = result->promise == Promise::Answer::kYes &&
                           result->verdict == Verdict::kFails &&
                           DependsOnValues(property);
  if (!exceeds && !falls_short) return;
  result->promise = Promise::Answer::kNotApplicable;
  result->as_promised = true;
  absl::StrAppend(&result->worked_case,
                  " The values were given by the caller, and the scheme's "
                  "promise covers only values of its own.");
}

// Marks a broken promise of shift invariance as not applicable to a scheme
// whose frequencies depend on the largest position of a call: a large shift
// changes them, and the parameters determine which shift is large.
void WaiveForLengthDependence(PropertyResult* result) {
  if (result->as_promised) return;
  result->promise = Promise::Answer::kNotApplicable;
  result->as_promised = true;
  absl::StrAppend(&result->worked_case,
                  " The scheme's frequencies depend on the largest position "
                  "of a call, which a shift changes.");
}

// Slopes that the caller specified need not be a geometric series.
PropertyResult SlopesResult(const Scheme& scheme, const CheckOutcome& outcome) {
  const bool user_specified = scheme.head_count() != 0;
  PropertyResult result = ResultOf(
      "slopes_geometric", outcome,
      user_specified ? Promise::Answer::kNotApplicable : Promise::Answer::kYes);
  if (user_specified) result.as_promised = true;
  return result;
}

}  // namespace

absl::StatusOr<std::vector<PropertyResult>> CheckProperties(
    const Scheme& scheme, const Promises& declared,
    const CancellationCheck& stop) {
  const Promises promises = scheme.PropertiesWith(declared);
  std::vector<PropertyResult> results;
  for (int n = 0; n < kPropertyCount; ++n) {
    if (stop) LOCUS_RETURN_IF_ERROR(stop());
    const auto property = static_cast<Property>(n);
    results.push_back(ResultOf(NameOf(property), Measure(property, scheme),
                               promises[n].answer));
    if (HasUserValues(scheme)) WaiveForUserValues(property, &results.back());
    if (property == Property::kShiftInvariance && scheme.depends_on_length()) {
      WaiveForLengthDependence(&results.back());
    }
  }
  if (stop) LOCUS_RETURN_IF_ERROR(stop());
  if (const auto slopes = SlopesGeometric(scheme)) {
    results.push_back(SlopesResult(scheme, *slopes));
  }
  const bool shift_is_linear =
      results[static_cast<int>(Property::kLinearShift)].verdict ==
      Verdict::kHolds;
  if (const auto products =
          shift_is_linear ? WorkedDotProducts(scheme) : std::nullopt) {
    results.push_back(
        ResultOf("worked_dot_products", *products, Promise::Answer::kYes));
  }
  return results;
}

}  // namespace locus
