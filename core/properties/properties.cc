#include "core/properties/properties.h"

#include <optional>

#include "absl/strings/str_cat.h"
#include "core/base/status.h"
#include "core/properties/encoding_properties.h"
#include "core/properties/attention_properties.h"
#include "core/properties/property_case.h"

namespace locus {
namespace {

Outcome Measure(Property property, const Scheme& scheme) {
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
  }
  return {};
}

// Whether what is measured are numbers of the caller's, not of the scheme's own
// rule: parameters for so many heads, or a table of one width.
bool HasGivenNumbers(const Scheme& scheme) {
  return scheme.is_given() || scheme.head_count() != 0 ||
         (scheme.table_length() != 0 && scheme.dim() != 0);
}

// A scheme cannot answer for given numbers where these decide.
void Excuse(Property property, PropertyResult* result) {
  if (result->as_promised) return;
  const bool more = result->promise == Promise::Answer::kNo &&
                    result->verdict == Verdict::kHolds;
  const bool less = result->promise == Promise::Answer::kYes &&
                    result->verdict == Verdict::kFails &&
                    (property == Property::kBoundedness ||
                     property == Property::kUniqueness ||
                     property == Property::kMonotonicDecay);
  if (!more && !less) return;
  result->promise = Promise::Answer::kNotApplicable;
  result->as_promised = true;
  absl::StrAppend(&result->worked_case,
                  " The numbers were given by the caller, and the scheme's "
                  "promise is one of its own numbers.");
}

// Where frequencies follow from the length, a shift far enough changes them;
// which is far enough, the caller decides.
void ExcuseLength(PropertyResult* result) {
  if (result->as_promised) return;
  result->promise = Promise::Answer::kNotApplicable;
  result->as_promised = true;
  absl::StrAppend(&result->worked_case,
                  " The scheme's numbers follow from the largest position of "
                  "a call, which a shift changes.");
}

// Slopes that the caller gave need not be a series.
PropertyResult SlopesResult(const Scheme& scheme, const Outcome& outcome) {
  const bool given = scheme.head_count() != 0;
  PropertyResult result =
      ResultOf("slopes_geometric", outcome,
               given ? Promise::Answer::kNotApplicable : Promise::Answer::kYes);
  if (given) result.as_promised = true;
  return result;
}

}  // namespace

absl::StatusOr<std::vector<PropertyResult>> CheckProperties(
    const Scheme& scheme, const Promises& made, const StopCheck& stop) {
  const Promises promises = scheme.Amended(made);
  std::vector<PropertyResult> results;
  for (int n = 0; n < kPropertyCount; ++n) {
    if (stop) LOCUS_RETURN_IF_ERROR(stop());
    const auto property = static_cast<Property>(n);
    results.push_back(ResultOf(NameOf(property), Measure(property, scheme),
                               promises[n].answer));
    if (HasGivenNumbers(scheme)) Excuse(property, &results.back());
    if (property == Property::kShiftInvariance && scheme.depends_on_length()) {
      ExcuseLength(&results.back());
    }
  }
  if (stop) LOCUS_RETURN_IF_ERROR(stop());
  if (const auto slopes = SlopesGeometric(scheme)) {
    results.push_back(SlopesResult(scheme, *slopes));
  }
  const bool shifts =
      results[static_cast<int>(Property::kLinearShift)].verdict ==
      Verdict::kHolds;
  if (const auto products = shifts ? WorkedDotProducts(scheme) : std::nullopt) {
    results.push_back(
        ResultOf("worked_dot_products", *products, Promise::Answer::kYes));
  }
  return results;
}

}  // namespace locus
