#include "core/properties/code_rules.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"

namespace locus {
namespace {

// Returns true if two vectors have the same bits. Equal NaNs are the same.
bool SameBits(const RealVector& a, const RealVector& b) {
  return std::equal(
      a.begin(), a.end(), b.begin(), b.end(), [](double x, double y) {
        return std::bit_cast<uint64_t>(x) == std::bit_cast<uint64_t>(y);
      });
}

// Returns true if the last position of a sequence has a code that differs from
// the code of the position before it and, with a table, from the last row and
// from the row that repeats if the table is read cyclically. NaNs count as
// equal.
bool LastIsDistinct(const Probe& probe, int64_t table_length) {
  const int64_t last = probe.length() - 1;
  std::vector<int64_t> others = {last - 1};
  if (table_length != 0 && last >= table_length) {
    others.insert(others.end(), {table_length - 1, last % table_length});
  }
  const RealVector code = probe.Signature(last);
  const double tolerance = kEqualityTolerance * MaxAbs(code);
  return std::all_of(others.begin(), others.end(), [&](int64_t other) {
    return MaxAbsDifference(code, probe.Signature(other)) > tolerance;
  });
}

}  // namespace

CheckOutcome Smoothness(const Scheme& scheme) {
  // With fewer positions, a step of a smooth code is a large part of the whole.
  constexpr int64_t kMinPositions = 8;
  // Bounds the time to compare all pairs of wide codes.
  constexpr int64_t kMaxProducts = int64_t{1} << 23;
  const auto probe = Probe::WithinTable(scheme, kDensePositions);
  if (auto unmeasurable = Unmeasurable(probe, kMinPositions)) {
    return *unmeasurable;
  }
  int64_t count = probe->length();
  while (count * count * probe->dim() > kMaxProducts &&
         count / 2 >= kMinPositions) {
    count /= 2;
  }
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

CheckOutcome LengthIndependence(const Scheme& scheme) {
  constexpr int64_t kShort = 32;
  // A table may be stretched in sequences that are longer than the table.
  int64_t limit = 1024;
  while (limit < 2 * scheme.table_length()) limit *= 2;
  const auto longest_probe = Probe::Longest(scheme, limit);
  if (auto unmeasurable = Unmeasurable(longest_probe, 2 * kShort)) {
    return *unmeasurable;
  }
  const std::vector<RealVector> signatures =
      Probe::Make(scheme, kShort)->Signatures(kShort);
  double largest = 0;
  const auto compare = [&](const Probe& probe) {
    for (int64_t n = 0; n < kShort; ++n) {
      UpdateMax(MaxAbsDifference(probe.Signature(n, kShort - 1), signatures[n]),
                &largest);
    }
  };
  const int64_t longest = longest_probe->length();
  for (const int64_t length : {2 * kShort, longest / 2}) {
    compare(*Probe::Make(scheme, length));
  }
  compare(*longest_probe);
  double magnitude = 0;
  for (const RealVector& signature : signatures) {
    UpdateMax(MaxAbs(signature), &magnitude);
  }
  if (magnitude > 0) largest /= magnitude;
  return Measured(largest, kEqualityTolerance,
                  absl::StrCat("First ", kShort, " ", SignatureNoun(scheme),
                               " in sequences of ", kShort, " to ", longest,
                               " tokens: they differ by at most ", largest,
                               " of the largest value."));
}

CheckOutcome OpenEndedness(const Scheme& scheme) {
  std::vector<int64_t> lengths;
  for (int64_t n = 4; n <= kMaxProbeLength; n *= 4) lengths.push_back(n);
  const int64_t rows = scheme.table_length();
  if (rows != 0) lengths.insert(lengths.end(), {rows + 2, 4 * rows + 4});
  int64_t failed = 0;
  int64_t longest_distinct = 0;
  for (const int64_t length : lengths) {
    const auto probe = Probe::Make(scheme, length);
    if (probe.ok() && probe->is_empty()) {
      return NotApplicable("there is no code");
    }
    if (!probe.ok() || !LastIsDistinct(*probe, rows)) {
      ++failed;
    } else {
      longest_distinct = std::max(longest_distinct, length);
    }
  }
  return Measured(
      static_cast<double>(failed), 0,
      absl::StrCat(
          "Sequences of 4, 16, ... ", kMaxProbeLength, " tokens",
          rows == 0 ? std::string()
                    : absl::StrCat(" and of ", rows + 2, " and ", 4 * rows + 4),
          ": in ", failed, " of ", lengths.size(),
          " the last position is rejected or has no ",
          scheme.site() == Site::kScores ? "bias" : "code",
          " of its own; the longest sequence with a distinct last "
          "position has ",
          longest_distinct, " tokens."));
}

// Compiles the scheme twice, and evaluates the two in opposite orders, so that
// a scheme whose numbers depend on a clock, on uninitialised memory or on the
// calls before is found.
CheckOutcome Determinism(const Scheme& scheme) {
  const auto once = Probe::WithinTable(scheme, kMaxProbeLength);
  if (auto unmeasurable = Unmeasurable(once, 1)) return *unmeasurable;
  const auto again = Probe::Make(scheme, once->length());
  if (!again.ok()) return NotRun(again.status().message());
  constexpr int64_t kPositions = 32;
  std::vector<int64_t> positions(std::min(once->length(), kPositions));
  std::iota(positions.begin(), positions.end(), 0);
  for (int64_t end = 2 * kPositions; end <= once->length(); end *= 2) {
    positions.push_back(end - 1);
  }
  const int64_t count = static_cast<int64_t>(positions.size());
  std::vector<RealVector> signatures;
  for (const int64_t position : positions) {
    signatures.push_back(once->Signature(position));
  }
  int64_t different = 0;
  for (int64_t n = count - 1; n >= 0; --n) {
    const RealVector repeated = again->Signature(positions[n]);
    if (!SameBits(repeated, signatures[n])) ++different;
  }
  return Measured(
      static_cast<double>(different), 0,
      absl::StrCat("Compiled twice, and computed in opposite "
                   "orders: of ",
                   count, " ", SignatureNoun(scheme), " up to ",
                   positions.back(), ", ", different, " differ in a bit."));
}

}  // namespace locus
