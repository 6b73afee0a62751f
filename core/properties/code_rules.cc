#include "core/properties/code_rules.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"

namespace locus {

CheckOutcome LengthIndependence(const Scheme& scheme) {
  constexpr int64_t kShort = 32;
  const auto longest_probe = Probe::Longest(scheme, 1024);
  if (auto unmeasurable = Unmeasurable(longest_probe, 2 * kShort)) {
    return *unmeasurable;
  }
  const std::vector<RealVector> signatures =
      Probe::Make(scheme, kShort)->Signatures(kShort);
  const int64_t longest = longest_probe->length();
  double largest = 0;
  for (int64_t length = 2 * kShort; length <= longest; length *= 2) {
    const auto probe = Probe::Make(scheme, length);
    for (int64_t n = 0; n < kShort; ++n) {
      UpdateMax(
          MaxAbsDifference(probe->Signature(n, kShort - 1), signatures[n]),
          &largest);
    }
  }
  double magnitude = 0;
  for (const RealVector& signature : signatures) {
    UpdateMax(MaxAbs(signature), &magnitude);
  }
  if (magnitude > 0) largest /= magnitude;
  return Measured(
      largest, kEqualityTolerance,
      absl::StrCat("The first ", kShort, " positions in sequences of ", kShort,
                   " to ", longest,
                   ": their codes, rotations or biases differ by at "
                   "most ",
                   largest, " of the largest value."));
}

CheckOutcome Smoothness(const Scheme& scheme) {
  const auto probe = Probe::Longest(scheme, kDensePositions);
  if (auto unmeasurable = Unmeasurable(probe, 2)) return *unmeasurable;
  const int64_t count = probe->length();
  const std::vector<RealVector> signatures = probe->Signatures(count);
  double step = 0;
  double diameter = 0;
  for (int64_t b = 1; b < count; ++b) {
    UpdateMax(Distance(signatures[b - 1], signatures[b]), &step);
    for (int64_t a = 0; a < b; ++a) {
      UpdateMax(Distance(signatures[a], signatures[b]), &diameter);
    }
  }
  const double ratio = diameter == 0 ? 0 : step / diameter;
  return Measured(
      ratio, 0.5,
      absl::StrCat("First ", count, " ", SignatureNoun(scheme),
                   ": the distance between neighbours is at most ", step,
                   ", between any two at most ", diameter, "."));
}

CheckOutcome OpenEndedness(const Scheme& scheme) {
  int64_t lengths = 0;
  int64_t failed = 0;
  int64_t longest_distinct = 0;
  for (int64_t length = 2; length <= kMaxProbeLength; length *= 2) {
    ++lengths;
    const auto probe = Probe::Make(scheme, length);
    if (!probe.ok()) {
      ++failed;
      continue;
    }
    if (probe->is_empty()) return NotApplicable("there is no code");
    const RealVector last = probe->Signature(length - 1);
    const double tolerance = kEqualityTolerance * MaxAbs(last);
    if (MaxAbsDifference(last, probe->Signature(length - 2)) <= tolerance) {
      ++failed;
    } else {
      longest_distinct = length;
    }
  }
  return Measured(
      static_cast<double>(failed), 0,
      absl::StrCat("Sequences of 2, 4, ... ", kMaxProbeLength,
                   " positions: in ", failed, " of ", lengths,
                   " the last position is rejected or has the code of the "
                   "position before it; the longest sequence with a distinct "
                   "last position has ",
                   longest_distinct, " positions."));
}

}  // namespace locus
