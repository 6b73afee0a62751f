#include "core/evaluation/code_cases.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <Eigen/QR>

#include "absl/strings/str_cat.h"
#include "core/base/random.h"
#include "core/evaluation/layer_cases.h"

namespace locus {
namespace {

constexpr uint64_t kSeed = 42;
// Positions that are looked at one by one.
constexpr int64_t kRange = 256;
constexpr int64_t kFar = int64_t{1} << 20;
// Numbers this close to each other, relative to the largest, are the same.
constexpr double kSame = 1e-9;

Row RandomRow(int64_t size, absl::string_view purpose) {
  Row row(size);
  RandomStream(kSeed, purpose).FillNormal(1, absl::MakeSpan(row));
  return row;
}

// Keeps the larger, and NaNs.
void Raise(double value, double* largest) {
  if (!(value <= *largest) && !std::isnan(*largest)) *largest = value;
}

// The marks of the first positions; the scheme must be served so far.
std::vector<Row> Marks(const Scheme& scheme, int64_t count) {
  const auto probe = Probe::Make(scheme, count);
  std::vector<Row> marks;
  for (int64_t n = 0; n < count; ++n) marks.push_back(probe->Mark(n));
  return marks;
}

double LargestOf(const std::vector<Row>& rows) {
  double largest = 0;
  for (const Row& row : rows) Raise(LargestMagnitude(row), &largest);
  return largest;
}

// What cannot be looked at for want of a code, or of positions.
std::optional<Outcome> Refusal(const Scheme& scheme, int64_t length) {
  const auto probe = Probe::Make(scheme, length);
  if (!probe.ok()) return NotRun(probe.status().message());
  if (probe->is_empty()) return NoMeaning("there is no code");
  return std::nullopt;
}

// What the marks of a scheme are, in words.
absl::string_view MarkWords(const Scheme& scheme) {
  switch (scheme.site()) {
    case Site::kQueriesAndKeys:
      return "rotations of positions";
    case Site::kScores:
      return "biases of distances over all heads";
    default:
      return "codes of positions";
  }
}

// --- linear shift ---

constexpr int64_t kShifts[] = {1, 3, 10};
constexpr int64_t kLongestShift = 10;
// Fits of wider codes take too long.
constexpr int64_t kMaxFitDim = 128;

// Positions below `end`: the first ones and as many far ones.
std::vector<int64_t> SpreadPositions(int64_t count, int64_t end) {
  std::set<int64_t> positions;
  for (int64_t p = 0; p < std::min(count / 2, end); ++p) positions.insert(p);
  RandomStream stream(kSeed, "properties.linear_shift");
  for (int64_t n = 0; n < count / 2; ++n) {
    positions.insert(
        static_cast<int64_t>(stream.Uniform() * static_cast<double>(end)));
  }
  return {positions.begin(), positions.end()};
}

// The codes of every second position, shifted.
Eigen::MatrixXd EverySecond(const Probe& probe,
                            const std::vector<int64_t>& positions, size_t first,
                            int64_t shift) {
  Eigen::MatrixXd rows((positions.size() - first + 1) / 2, probe.dim());
  for (int64_t n = 0; n < rows.rows(); ++n) {
    const Row code = probe.Code(positions[first + 2 * n] + shift);
    rows.row(n) =
        Eigen::Map<const Eigen::RowVectorXd>(code.data(), probe.dim());
  }
  return rows;
}

Outcome FitShift(const Probe& probe, const std::vector<int64_t>& positions) {
  const Eigen::MatrixXd fit = EverySecond(probe, positions, 0, 0);
  const Eigen::MatrixXd other = EverySecond(probe, positions, 1, 0);
  const Eigen::ColPivHouseholderQR<Eigen::MatrixXd> qr(fit);
  const double size = other.rowwise().norm().maxCoeff();
  double largest = 0;
  for (const int64_t k : kShifts) {
    const Eigen::MatrixXd m = qr.solve(EverySecond(probe, positions, 0, k));
    const Eigen::MatrixXd missed =
        EverySecond(probe, positions, 1, k) - other * m;
    const double residual = missed.rowwise().norm().maxCoeff();
    Raise(size > 0 ? residual / size : residual, &largest);
  }
  return Measured(
      largest, 1e-6,
      absl::StrCat("Width ", probe.dim(), ": M_k fitted by least squares on ",
                   fit.rows(), " positions up to ", positions.back(),
                   ", for k = 1, 3, 10; ", "on ", other.rows(),
                   " other positions M_k PE(p) misses PE(p + k) by at most ",
                   largest, " of the largest norm."));
}

}  // namespace

Outcome LinearShift(const Scheme& scheme) {
  if (scheme.site() != Site::kEmbeddings) {
    return NoMeaning("no code is added to embeddings");
  }
  int64_t reach = 0;
  for (const int64_t wanted : {16, 8, 4}) {
    const int64_t dim = scheme.dim() != 0 ? scheme.dim() : wanted;
    if (dim > kMaxFitDim) {
      return NotRun(absl::StrCat(
          "the code is ", dim, " wide, and fits are made up to ", kMaxFitDim));
    }
    reach = Reach(scheme, int64_t{1} << 16, dim);
    const std::vector<int64_t> positions =
        SpreadPositions(6 * dim, reach - kLongestShift);
    if (static_cast<int64_t>(positions.size()) < 2 * dim + 4) continue;
    return FitShift(*Probe::Make(scheme, reach, dim), positions);
  }
  return NotRun(absl::StrCat("a fit needs more positions than the ", reach,
                             " that were found to be served"));
}

Outcome RelativeRotation(const Scheme& scheme) {
  constexpr std::pair<int64_t, int64_t> kPairs[] = {
      {0, 1}, {3, 7}, {5, 5}, {10, 12}, {20, 8}};
  constexpr int64_t kLength = 32;
  if (scheme.site() != Site::kQueriesAndKeys) {
    return NoMeaning("nothing is rotated");
  }
  const auto probe = Probe::Make(scheme, kLength);
  if (!probe.ok()) return NotRun(probe.status().message());
  const Row q = RandomRow(probe->dim(), "properties.q");
  const Row k = RandomRow(probe->dim(), "properties.k");
  const auto score = [&](int64_t m, int64_t n) {
    return Dot(probe->Rotate(m, q), probe->Rotate(n, k));
  };
  double largest = 0;
  for (const auto& [m, n] : kPairs) {
    const int64_t nearest = std::min(m, n);
    const double expected = score(m - nearest, n - nearest);
    for (int64_t shift = -nearest; std::max(m, n) + shift < kLength; ++shift) {
      Raise(std::abs(score(m + shift, n + shift) - expected), &largest);
    }
    // R(0) is the identity, up to a factor on cosines and sines.
    const Row twice = probe->Rotate(m, probe->Rotate(n, q));
    const Row once = probe->Rotate(m + n, probe->Rotate(0, q));
    Raise(LargestDifference(twice, once), &largest);
  }
  return Measured(
      largest, 1e-5,
      absl::StrCat("d = ", probe->dim(),
                   ", T = 32, pairs (0,1), (3,7), (5,5), (10,12), (20,8): "
                   "<R_m q, R_n k> and the same with both shifted anywhere in "
                   "T, and R(m) R(n) q and R(m + n) q, differ by at most ",
                   largest, "; <R_3 q, R_7 k> = ", score(3, 7),
                   ", <R_10 q, R_14 k> = ", score(10, 14), "."));
}

Outcome NormPreservation(const Scheme& scheme) {
  if (scheme.site() != Site::kQueriesAndKeys) {
    return NoMeaning("nothing is rotated");
  }
  const int64_t reach = Reach(scheme, kFar);
  const auto probe = Probe::Make(scheme, std::max<int64_t>(reach, 1));
  if (!probe.ok()) return NotRun(probe.status().message());
  const Row x = RandomRow(probe->dim(), "properties.x");
  double largest = 0;
  for (int64_t p = 1; p <= reach; p *= 2) {
    const double ratio = Norm(probe->Rotate(p - 1, x)) / Norm(x);
    Raise(std::abs(ratio - 1), &largest);
  }
  return Measured(
      largest, 1e-9,
      absl::StrCat("A vector of width ", probe->dim(),
                   " rotated to positions up to ", reach - 1,
                   ": its norm changes by at most ", largest, " of itself."));
}

namespace {

// How large what a scheme adds or turns gets in a sequence, at its end and at a
// few other places.
double Magnitude(const Probe& probe, const Row& x, RandomStream& stream) {
  constexpr int kPlaces = 16;
  double largest = 0;
  for (int n = 0; n < kPlaces; ++n) {
    const int64_t place =
        n == 0 ? probe.length() - 1
               : static_cast<int64_t>(stream.Uniform() *
                                      static_cast<double>(probe.length()));
    if (probe.rotation() != nullptr) {
      Raise(Norm(probe.Rotate(place, x)) / Norm(x), &largest);
    } else if (probe.code() != nullptr) {
      Raise(Norm(probe.Code(place)), &largest);
    } else {
      Raise(LargestMagnitude(probe.Mark(place)), &largest);
    }
  }
  return largest;
}

}  // namespace

// A logarithm doubles where the length is squared, and what is bounded stays.
Outcome Boundedness(const Scheme& scheme) {
  if (scheme.site() == Site::kNowhere) return LayerBoundedness(scheme);
  const int64_t reach = Reach(scheme, kFar);
  if (reach < 4) {
    return NotRun(absl::StrCat("only ", reach, " positions are served"));
  }
  RandomStream stream(kSeed, "properties.boundedness");
  const Row x = RandomRow(Probe::Make(scheme, reach)->dim(), "properties.x");
  double near = 0;
  double far = 0;
  int64_t near_end = 1;
  for (int64_t length = 1; length <= reach; length *= 2) {
    const auto probe = Probe::Make(scheme, length);
    const bool is_near = length <= reach / length;
    if (is_near) near_end = length;
    Raise(Magnitude(*probe, x, stream), is_near ? &near : &far);
  }
  const double ratio = far == 0    ? 0
                       : near == 0 ? std::numeric_limits<double>::infinity()
                                   : far / near;
  std::string words = absl::StrCat(
      scheme.site() == Site::kScores       ? "The bias"
      : scheme.site() == Site::kEmbeddings ? "The norm of a code"
                                           : "The norm of a rotated vector, "
                                             "over its own,",
      " in sequences of up to ", near_end, " positions is at most ", near,
      ", of up to ", reach, " positions ", far, ".");
  if (scheme.site() == Site::kEmbeddings) {
    const auto probe = Probe::Make(scheme, reach);
    const Row last = probe->Code(reach - 1);
    const double square = Dot(last, last);
    const double half = static_cast<double>(probe->dim()) / 2;
    absl::StrAppend(&words, " The squared norm of the last code is ",
                    Digits(square, 8),
                    std::abs(square - half) <= kSame * half ? " = d / 2" : "",
                    " at width ", probe->dim(), ".");
  }
  return Measured(ratio, 1.6, std::move(words));
}

Outcome Uniqueness(const Scheme& scheme) {
  const int64_t count = Reach(scheme, kRange);
  if (auto refusal = Refusal(scheme, std::max<int64_t>(count, 2))) {
    return *refusal;
  }
  const std::vector<Row> marks = Marks(scheme, count);
  const double same = kSame * LargestOf(marks);
  int64_t collisions = 0;
  std::string first;
  for (int64_t b = 1; b < count; ++b) {
    for (int64_t a = 0; a < b; ++a) {
      if (LargestDifference(marks[a], marks[b]) > same) continue;
      if (collisions++ == 0) {
        first = absl::StrCat("; the first are ", a, " and ", b);
      }
      break;
    }
  }
  return Measured(
      static_cast<double>(collisions), 0,
      absl::StrCat("Of the first ", count, " ", MarkWords(scheme), ", ",
                   collisions, " equal an earlier one", first, "."));
}

namespace {

// What should fall with distance: one row for each curve, by distance.
std::vector<Row> Curves(const Probe& probe, int64_t count) {
  if (probe.code() != nullptr) {
    const Row origin = probe.Code(0);
    Row curve;
    for (int64_t n = 0; n < count; ++n) {
      const Row code = probe.Code(n);
      const double norms = Norm(origin) * Norm(code);
      curve.push_back(norms > 0 ? Dot(origin, code) / norms : 0);
    }
    return {curve};
  }
  if (probe.rotation() != nullptr) {
    const Row ones(probe.dim(), 1.0);
    Row curve;
    for (int64_t n = 0; n < count; ++n) {
      curve.push_back(Dot(probe.Rotate(0, ones), probe.Rotate(n, ones)));
    }
    return {curve};
  }
  std::vector<Row> curves(probe.Bias(0, 0).size());
  for (int64_t n = 0; n < count; ++n) {
    const Row biases = probe.Bias(count - 1, count - 1 - n);
    for (size_t h = 0; h < biases.size(); ++h) curves[h].push_back(biases[h]);
  }
  if (probe.bias()->is_causal()) return curves;
  const size_t head_count = curves.size();
  curves.resize(2 * head_count);
  for (int64_t n = 0; n < count; ++n) {
    const Row biases = probe.Bias(0, n);  // keys after the query
    for (size_t h = 0; h < head_count; ++h) {
      curves[head_count + h].push_back(biases[h]);
    }
  }
  return curves;
}

}  // namespace

Outcome MonotonicDecay(const Scheme& scheme) {
  const int64_t count = Reach(scheme, 64);
  if (auto refusal = Refusal(scheme, std::max<int64_t>(count, 2))) {
    return *refusal;
  }
  int64_t steps = 0;
  int64_t violations = 0;
  for (const Row& curve : Curves(*Probe::Make(scheme, count), count)) {
    for (int64_t n = 1; n < count; ++n) {
      ++steps;
      // Written so that a NaN is one.
      if (!(curve[n] < curve[n - 1])) ++violations;
    }
  }
  const absl::string_view what = scheme.site() == Site::kScores
                                     ? "the bias of each head and side"
                                 : scheme.site() == Site::kQueriesAndKeys
                                     ? "the score of two vectors of ones"
                                     : "the cosine of PE(0) and PE(n)";
  return Measured(static_cast<double>(violations), 0,
                  absl::StrCat("Distances up to ", count - 1, ": of ", steps,
                               " steps away, ", what, " fails to fall in ",
                               violations, "."));
}

std::optional<Outcome> SlopesGeometric(const Scheme& scheme) {
  if (scheme.site() != Site::kScores) return std::nullopt;
  const auto probe = Probe::Make(scheme, 2);
  if (!probe.ok() || probe->bias() == nullptr) return std::nullopt;
  const Row said = probe->bias()->slopes();
  if (said.empty()) return std::nullopt;
  Row slopes = probe->Bias(1, 1);
  const Row next = probe->Bias(1, 0);
  for (size_t h = 0; h < slopes.size(); ++h) slopes[h] -= next[h];
  if (slopes.size() < 3) {
    return NotRun(
        absl::StrCat("a series needs three slopes; there are ", slopes.size()));
  }
  double largest = LargestDifference(slopes, said);
  for (size_t h = 1; h + 1 < slopes.size(); ++h) {
    Raise(std::abs(slopes[h + 1] / slopes[h] - slopes[1] / slopes[0]),
          &largest);
  }
  return Measured(
      largest, 1e-9,
      absl::StrCat(slopes.size(), " heads, slopes from ", slopes.front(),
                   " to ", slopes.back(), ", each ", slopes[1] / slopes[0],
                   " of the one before: ratios deviate by at most ", largest,
                   "."));
}

std::optional<Outcome> WorkedDotProducts(const Scheme& scheme) {
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
      Raise(std::abs(dot(p, p + distance) - dot(0, distance)), &largest);
    }
  }
  return Measured(
      largest, 1e-9,
      absl::StrCat("d = ", probe->dim(),
                   ": PE(0).PE(1) = ", Digits(dot(0, 1), 8),
                   ", PE(5).PE(6) = ", Digits(dot(5, 6), 8),
                   ", PE(0).PE(5) = ", Digits(dot(0, 5), 8),
                   "; over 32 positions, dot products at one distance differ "
                   "by at most ",
                   largest, "."));
}

Outcome LengthIndependence(const Scheme& scheme) {
  constexpr int64_t kShort = 32;
  if (auto refusal = Refusal(scheme, 2 * kShort)) return *refusal;
  const std::vector<Row> marks = Marks(scheme, kShort);
  const int64_t longest = Reach(scheme, 1024);
  double largest = 0;
  for (int64_t length = 2 * kShort; length <= longest; length *= 2) {
    const auto probe = Probe::Make(scheme, length);
    for (int64_t n = 0; n < kShort; ++n) {
      Raise(LargestDifference(probe->Mark(n, kShort - 1), marks[n]), &largest);
    }
  }
  const double size = LargestOf(marks);
  if (size > 0) largest /= size;
  return Measured(
      largest, kSame,
      absl::StrCat("The first ", kShort, " positions in sequences of ", kShort,
                   " to ", longest, ": what they get differs by at most ",
                   largest, " of the largest."));
}

Outcome Smoothness(const Scheme& scheme) {
  const int64_t count = Reach(scheme, kRange);
  if (auto refusal = Refusal(scheme, std::max<int64_t>(count, 2))) {
    return *refusal;
  }
  const std::vector<Row> marks = Marks(scheme, count);
  double step = 0;
  double diameter = 0;
  for (int64_t b = 1; b < count; ++b) {
    Raise(Distance(marks[b - 1], marks[b]), &step);
    for (int64_t a = 0; a < b; ++a) {
      Raise(Distance(marks[a], marks[b]), &diameter);
    }
  }
  const double ratio = diameter == 0 ? 0 : step / diameter;
  return Measured(ratio, 0.5,
                  absl::StrCat("Of the first ", count, " ", MarkWords(scheme),
                               ", neighbours lie up to ", step,
                               " apart, any two up to ", diameter, "."));
}

Outcome OpenEndedness(const Scheme& scheme) {
  int64_t asked = 0;
  int64_t failed = 0;
  int64_t last_served = 0;
  for (int64_t length = 2; length <= kFar; length *= 2) {
    ++asked;
    const auto probe = Probe::Make(scheme, length);
    if (!probe.ok()) {
      ++failed;
      continue;
    }
    if (probe->is_empty()) return NoMeaning("there is no code");
    const Row last = probe->Mark(length - 1);
    const double same = kSame * LargestMagnitude(last);
    if (LargestDifference(last, probe->Mark(length - 2)) <= same) {
      ++failed;
    } else {
      last_served = length;
    }
  }
  return Measured(
      static_cast<double>(failed), 0,
      absl::StrCat("Sequences of 2, 4, ... ", kFar, " positions: in ", failed,
                   " of ", asked,
                   " the last position is refused or coded as the one before; "
                   "the longest that is served has ",
                   last_served, "."));
}

}  // namespace locus
