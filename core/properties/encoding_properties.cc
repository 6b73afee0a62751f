#include "core/properties/encoding_properties.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <Eigen/QR>

#include "absl/strings/str_cat.h"
#include "core/base/random.h"
#include "core/properties/attention_properties.h"

namespace locus {
namespace {

// Normal random numbers from the stream `purpose`.
RealVector RandomVector(int64_t size, absl::string_view purpose) {
  RealVector row(size);
  RandomStream(kPropertySeed, purpose).FillNormal(1, absl::MakeSpan(row));
  return row;
}

// Shifts k for which M_k is fitted.
constexpr int64_t kFitShifts[] = {1, 3, 10};
constexpr int64_t kMaxFitShift = 10;
// Wider codes are not fitted, to bound the time of the least-squares fit.
constexpr int64_t kMaxFitDim = 128;

// About `count` ascending positions below `end`: half of them the first
// positions, the others drawn at random.
std::vector<int64_t> SamplePositions(int64_t count, int64_t end) {
  std::set<int64_t> positions;
  for (int64_t p = 0; p < std::min(count / 2, end); ++p) positions.insert(p);
  RandomStream stream(kPropertySeed, "properties.linear_shift");
  for (int64_t n = 0; n < count / 2; ++n) {
    positions.insert(
        static_cast<int64_t>(stream.Uniform() * static_cast<double>(end)));
  }
  return {positions.begin(), positions.end()};
}

// Codes of every second position, beginning with positions[first], each shifted
// by `shift`. Even indices are used for fitting and odd ones for testing.
Eigen::MatrixXd AlternateCodes(const Probe& probe,
                               const std::vector<int64_t>& positions,
                               size_t first, int64_t shift) {
  Eigen::MatrixXd rows((positions.size() - first + 1) / 2, probe.dim());
  for (int64_t n = 0; n < rows.rows(); ++n) {
    const RealVector code = probe.Code(positions[first + 2 * n] + shift);
    rows.row(n) =
        Eigen::Map<const Eigen::RowVectorXd>(code.data(), probe.dim());
  }
  return rows;
}

CheckOutcome FitShift(const Probe& probe,
                      const std::vector<int64_t>& positions) {
  const Eigen::MatrixXd fit = AlternateCodes(probe, positions, 0, 0);
  const Eigen::MatrixXd held_out = AlternateCodes(probe, positions, 1, 0);
  const Eigen::ColPivHouseholderQR<Eigen::MatrixXd> qr(fit);
  const double max_norm = held_out.rowwise().norm().maxCoeff();
  double largest = 0;
  for (const int64_t k : kFitShifts) {
    const Eigen::MatrixXd m = qr.solve(AlternateCodes(probe, positions, 0, k));
    const Eigen::MatrixXd residuals =
        AlternateCodes(probe, positions, 1, k) - held_out * m;
    const double residual = residuals.rowwise().norm().maxCoeff();
    UpdateMax(max_norm > 0 ? residual / max_norm : residual, &largest);
  }
  return Measured(
      largest, 1e-6,
      absl::StrCat(
          "Width ", probe.dim(), ": M_k fitted by least squares on ",
          fit.rows(), " positions up to ", positions.back(),
          ", for k = 1, 3, 10; on ", held_out.rows(),
          " other positions M_k PE(p) and PE(p + k) differ by at most ",
          largest, " of the largest norm."));
}

}  // namespace

CheckOutcome LinearShift(const Scheme& scheme) {
  if (scheme.site() != Site::kEmbeddings) {
    return NotApplicable("no code is added to embeddings");
  }
  int64_t served = 0;
  for (const int64_t wanted : {16, 8, 4}) {
    const int64_t dim = scheme.dim() != 0 ? scheme.dim() : wanted;
    if (dim > kMaxFitDim) {
      return NotRun(absl::StrCat("the code has width ", dim,
                                 ", and the fit supports at most ",
                                 kMaxFitDim));
    }
    // Rows beyond a table follow from its policy, and would not test the
    // scheme.
    const auto probe = Probe::WithinTable(scheme, int64_t{1} << 16, dim);
    if (!probe.ok()) return NotRun(probe.status().message());
    served = probe->length();
    if (served <= kMaxFitShift) break;
    const std::vector<int64_t> positions =
        SamplePositions(6 * dim, served - kMaxFitShift);
    if (static_cast<int64_t>(positions.size()) < 2 * dim + 4) continue;
    return FitShift(*probe, positions);
  }
  return NotRun(absl::StrCat("a fit needs more than the ", served,
                             " positions that the scheme serves"));
}

CheckOutcome RelativeRotation(const Scheme& scheme) {
  constexpr std::pair<int64_t, int64_t> kPairs[] = {
      {0, 1}, {3, 7}, {5, 5}, {10, 12}, {20, 8}};
  constexpr int64_t kLength = 32;
  if (scheme.site() != Site::kQueriesAndKeys) {
    return NotApplicable("nothing is rotated");
  }
  const auto probe = Probe::Make(scheme, kLength);
  if (!probe.ok()) return NotRun(probe.status().message());
  const RealVector q = RandomVector(probe->dim(), "properties.q");
  const RealVector k = RandomVector(probe->dim(), "properties.k");
  const auto score = [&](int64_t m, int64_t n) {
    return Dot(probe->RotateQuery(m, q), probe->RotateKey(n, k));
  };
  double largest = 0;
  for (const auto& [m, n] : kPairs) {
    const int64_t nearest = std::min(m, n);
    const double expected = score(m - nearest, n - nearest);
    for (int64_t shift = -nearest; std::max(m, n) + shift < kLength; ++shift) {
      UpdateMax(std::abs(score(m + shift, n + shift) - expected), &largest);
    }
    // R(0) is the identity, up to the attention factor of some scalings.
    const RealVector twice = probe->RotateQuery(m, probe->RotateQuery(n, q));
    const RealVector once = probe->RotateQuery(m + n, probe->RotateQuery(0, q));
    UpdateMax(MaxAbsDifference(twice, once), &largest);
  }
  return Measured(
      largest, 1e-5,
      absl::StrCat("d = ", probe->dim(),
                   ", T = 32, pairs (0,1), (3,7), (5,5), (10,12), (20,8): "
                   "<R_m q, R_n k> changes by at most ",
                   largest,
                   " when both positions are shifted within T, and R(m) R(n) q "
                   "differs from R(m + n) q by no more; <R_3 q, R_7 k> = ",
                   score(3, 7), ", <R_10 q, R_14 k> = ", score(10, 14), "."));
}

CheckOutcome NormPreservation(const Scheme& scheme) {
  if (scheme.site() != Site::kQueriesAndKeys) {
    return NotApplicable("nothing is rotated");
  }
  const auto probe = Probe::Longest(scheme, kMaxProbeLength);
  if (!probe.ok()) return NotRun(probe.status().message());
  const int64_t length = probe->length();
  const RealVector x = RandomVector(probe->dim(), "properties.x");
  double largest = 0;
  for (int64_t p = 1; p <= length; p *= 2) {
    const double ratio = Norm(probe->RotateQuery(p - 1, x)) / Norm(x);
    UpdateMax(std::abs(ratio - 1), &largest);
  }
  return Measured(largest, 1e-9,
                  absl::StrCat("A vector of width ", probe->dim(),
                               " rotated to positions up to ", length - 1,
                               ": its norm changes by at most ", largest,
                               ", relative to the norm."));
}

namespace {

// Largest magnitude of a code, a bias or a rotated `x` (relative to x) in a
// sequence, over its last position and 63 random ones.
double Magnitude(const Probe& probe, const RealVector& x,
                 RandomStream& stream) {
  constexpr int kSamples = 64;
  double largest = 0;
  for (int n = 0; n < kSamples; ++n) {
    const int64_t position =
        n == 0 ? probe.length() - 1
               : static_cast<int64_t>(stream.Uniform() *
                                      static_cast<double>(probe.length()));
    if (probe.rotation() != nullptr) {
      UpdateMax(Norm(probe.RotateQuery(position, x)) / Norm(x), &largest);
    } else if (probe.code() != nullptr) {
      UpdateMax(Norm(probe.Code(position)), &largest);
    } else {
      UpdateMax(MaxAbs(probe.Signature(position)), &largest);
    }
  }
  return largest;
}

}  // namespace

// Compares the magnitude in the longest sequence with that in sequences up to
// the square root of its length. Logarithmic growth doubles the magnitude
// between the two, and faster growth exceeds that; the tolerance is 1.6.
CheckOutcome Boundedness(const Scheme& scheme) {
  if (scheme.site() == Site::kNone) return LayerBoundedness(scheme);
  const auto longest = Probe::Longest(scheme, kMaxProbeLength);
  if (auto unmeasurable = Unmeasurable(longest, 4)) return *unmeasurable;
  const int64_t far_end = longest->length();
  RandomStream stream(kPropertySeed, "properties.boundedness");
  const RealVector x = RandomVector(longest->dim(), "properties.x");
  double near = 0;
  const double far = Magnitude(*longest, x, stream);
  int64_t near_end = 1;
  while (2 * near_end <= far_end / (2 * near_end)) near_end *= 2;
  for (int64_t length = near_end; length > 1; length /= 32) {
    UpdateMax(Magnitude(*Probe::Make(scheme, length), x, stream), &near);
  }
  const double ratio = far == 0    ? 0
                       : near == 0 ? std::numeric_limits<double>::infinity()
                                   : far / near;
  std::string words = absl::StrCat(
      scheme.site() == Site::kScores       ? "The bias"
      : scheme.site() == Site::kEmbeddings ? "The norm of a code"
                                           : "The norm of a rotated vector, "
                                             "relative to the vector,",
      " in sequences of up to ", near_end, " positions is at most ", near,
      ", in sequences of up to ", far_end, " positions ", far, ".");
  if (scheme.site() == Site::kEmbeddings) {
    const RealVector last = longest->Code(far_end - 1);
    const double square = Dot(last, last);
    const double half = static_cast<double>(longest->dim()) / 2;
    absl::StrAppend(
        &words, " The squared norm of the last code is ",
        FormatDigits(square, 8),
        std::abs(square - half) <= kEqualityTolerance * half ? " = d / 2" : "",
        " at width ", longest->dim(), ".");
  }
  return Measured(ratio, 1.6, std::move(words));
}

// Compares the first positions with each other. Collisions may begin at large
// positions, so two adjacent positions at the end of every octave are compared
// with all earlier ones.
CheckOutcome Uniqueness(const Scheme& scheme) {
  const auto probe = Probe::WithinTable(scheme, kMaxProbeLength);
  if (auto unmeasurable = Unmeasurable(probe, 2)) return *unmeasurable;
  const int64_t near = std::min(probe->length(), kDensePositions);
  std::vector<int64_t> positions(near);
  std::iota(positions.begin(), positions.end(), 0);
  for (int64_t end = 2 * near; end <= probe->length(); end *= 2) {
    positions.insert(positions.end(), {end - 2, end - 1});
  }
  std::vector<RealVector> signatures;
  std::vector<double> tolerances;
  for (const int64_t position : positions) {
    signatures.push_back(probe->Signature(position));
    tolerances.push_back(kEqualityTolerance * MaxAbs(signatures.back()));
  }
  int64_t collisions = 0;
  std::string first;
  for (size_t b = 1; b < positions.size(); ++b) {
    for (size_t a = 0; a < b; ++a) {
      if (!AllWithin(std::max(tolerances[a], tolerances[b]), signatures[a],
                     signatures[b])) {
        continue;
      }
      if (collisions++ == 0) {
        first = absl::StrCat("; the first are ", positions[a], " and ",
                             positions[b]);
      }
      break;
    }
  }
  const int64_t far_count = static_cast<int64_t>(positions.size()) - near;
  return Measured(
      static_cast<double>(collisions), 0,
      absl::StrCat("Of the first ", near, " ", SignatureNoun(scheme),
                   far_count == 0
                       ? std::string()
                       : absl::StrCat(" and ", far_count, " others up to ",
                                      positions.back()),
                   scheme.table_length() == 0 ? "" : ", within the table", ", ",
                   collisions, " equal an earlier one", first, "."));
}

namespace {

// The numbers that should fall with the distance: the cosine similarity of two
// codes, the score of two rotated vectors of ones, or the bias of each head, on
// both sides of the query unless the bias is causal.
RealVector Closeness(const Probe& probe, int64_t distance) {
  if (probe.code() != nullptr) {
    const RealVector origin = probe.Code(0);
    const RealVector code = probe.Code(distance);
    const double norms = Norm(origin) * Norm(code);
    return {norms > 0 ? Dot(origin, code) / norms : 0};
  }
  if (probe.rotation() != nullptr) {
    const RealVector ones(probe.dim(), 1.0);
    return {Dot(probe.RotateKey(0, ones), probe.RotateQuery(distance, ones))};
  }
  RealVector biases = probe.Signature(distance);
  if (!probe.bias()->is_causal()) {
    const RealVector after = probe.Bias(0, distance);  // keys after the query
    biases.insert(biases.end(), after.begin(), after.end());
  }
  return biases;
}

}  // namespace

// Examines the first 63 steps and, since similarity may begin to rise at large
// distances, one step at the end of every octave.
CheckOutcome MonotonicDecay(const Scheme& scheme) {
  constexpr int64_t kSteps = 63;
  // With fewer positions, all steps may fall by chance.
  const auto probe = Probe::Longest(scheme, kMaxProbeLength);
  if (auto unmeasurable = Unmeasurable(probe, 8)) return *unmeasurable;
  int64_t steps = 0;
  int64_t violations = 0;
  const auto step_to = [&](int64_t distance) {
    const RealVector before = Closeness(*probe, distance - 1);
    const RealVector after = Closeness(*probe, distance);
    for (size_t n = 0; n < after.size(); ++n) {
      ++steps;
      // The comparison is false for NaN, so that NaN is a violation.
      if (!(after[n] < before[n])) ++violations;
    }
  };
  const int64_t last = probe->length() - 1;
  for (int64_t n = 1; n <= std::min(last, kSteps); ++n) step_to(n);
  for (int64_t n = 2 * kSteps + 1; n <= last; n = 2 * n + 1) step_to(n);
  const absl::string_view quantity = scheme.site() == Site::kScores
                                         ? "the bias of each head and side"
                                     : scheme.site() == Site::kQueriesAndKeys
                                         ? "the score of two vectors of ones"
                                         : "the cosine of PE(0) and PE(n)";
  return Measured(
      static_cast<double>(violations), 0,
      absl::StrCat("Distances up to ", std::min(last, kSteps),
                   last > kSteps
                       ? absl::StrCat(" and a step at each octave up to ", last)
                       : "",
                   ": ", quantity, " does not fall in ", violations, " of ",
                   steps, " steps."));
}

std::optional<CheckOutcome> SlopesGeometric(const Scheme& scheme) {
  if (scheme.site() != Site::kScores) return std::nullopt;
  // Schemes without slopes are recognised with two heads, which is cheap even
  // for biases that draw a table for each head.
  const auto narrow = Probe::Make(scheme, 2);
  if (!narrow.ok() || narrow->bias() == nullptr) return std::nullopt;
  if (narrow->bias()->slopes().empty()) return std::nullopt;
  const auto probe = Probe::Make(scheme, 2, /*dim=*/16, /*head_count=*/8);
  const RealVector declared = probe->bias()->slopes();
  RealVector slopes = probe->Bias(1, 1);
  const RealVector next = probe->Bias(1, 0);
  for (size_t h = 0; h < slopes.size(); ++h) slopes[h] -= next[h];
  if (slopes.size() < 3) {
    return NotRun(
        absl::StrCat("a series needs three slopes; there are ", slopes.size()));
  }
  double largest = MaxAbsDifference(slopes, declared);
  for (size_t h = 1; h + 1 < slopes.size(); ++h) {
    UpdateMax(std::abs(slopes[h + 1] / slopes[h] - slopes[1] / slopes[0]),
              &largest);
  }
  return Measured(
      largest, 1e-9,
      absl::StrCat(slopes.size(), " heads, slopes from ", slopes.front(),
                   " to ", slopes.back(), ", each ", slopes[1] / slopes[0],
                   " of the one before: ratios deviate by at most ", largest,
                   "."));
}

std::optional<CheckOutcome> WorkedDotProducts(const Scheme& scheme) {
  constexpr int64_t kLength = 32;
  if (scheme.site() != Site::kEmbeddings) return std::nullopt;
  const auto probe = Probe::Make(scheme, kLength, /*dim=*/4);
  if (!probe.ok()) return NotRun(probe.status().message());
  const auto dot = [&](int64_t a, int64_t b) {
    return Dot(probe->Code(a), probe->Code(b));
  };
  double largest = 0;
  for (int64_t distance = 0; distance < kLength; ++distance) {
    for (int64_t p = 0; p + distance < kLength; ++p) {
      UpdateMax(std::abs(dot(p, p + distance) - dot(0, distance)), &largest);
    }
  }
  return Measured(
      largest, 1e-9,
      absl::StrCat("d = ", probe->dim(),
                   ": PE(0).PE(1) = ", FormatDigits(dot(0, 1), 8),
                   ", PE(5).PE(6) = ", FormatDigits(dot(5, 6), 8),
                   ", PE(0).PE(5) = ", FormatDigits(dot(0, 5), 8),
                   "; over 32 positions, dot products at one distance differ "
                   "by at most ",
                   largest, "."));
}

}  // namespace locus
