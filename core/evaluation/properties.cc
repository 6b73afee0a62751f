#include "core/evaluation/properties.h"

#include <optional>

#include "core/evaluation/code_cases.h"
#include "core/evaluation/layer_cases.h"
#include "core/evaluation/property_case.h"

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

std::vector<PropertyResult> CheckProperties(const Scheme& scheme,
                                            const Promises& promises) {
  std::vector<PropertyResult> results;
  for (int n = 0; n < kPropertyCount; ++n) {
    const auto property = static_cast<Property>(n);
    results.push_back(ResultOf(NameOf(property), Measure(property, scheme),
                               promises[n].answer));
  }
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
