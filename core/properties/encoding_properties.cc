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

// The marks of the first positions.
std::vector<Row> Marks(const Probe& probe, int64_t count) {
  std::vector<Row> marks;
  for (int64_t n = 0; n < count; ++n) marks.push_back(probe.Mark(n));
  return marks;
}

double LargestOf(const std::vector<Row>& rows) {
  double largest = 0;
  for (const Row& row : rows) Raise(LargestMagnitude(row), &largest);
  return largest;
}

// What cannot be looked at for want of a code, or of so many positions.
std::optional<Outcome> Refusal(const absl::StatusOr<Probe>& probe,
                               int64_t least) {
  if (!probe.ok()) return NotRun(probe.status().message());
  if (probe->is_empty()) return NoMeaning("there is no code");
  if (probe->length() >= least) return std::nullopt;
  return NotRun(absl::StrCat("only ", probe->length(),
                             " positions are served, and the case needs ",
                             least));
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
  int64_t served = 0;
  for (const int64_t wanted : {16, 8, 4}) {
    const int64_t dim = scheme.dim() != 0 ? scheme.dim() : wanted;
    if (dim > kMaxFitDim) {
      return NotRun(absl::StrCat(
          "the code is ", dim, " wide, and fits are made up to ", kMaxFitDim));
    }
    // Past a table there are only copies of its rows.
    const auto probe = Probe::WithinTable(scheme, int64_t{1} << 16, dim);
    if (!probe.ok()) return NotRun(probe.status().message());
    served = probe->length();
    if (served <= kLongestShift) break;
    const std::vector<int64_t> positions =
        SpreadPositions(6 * dim, served - kLongestShift);
    if (static_cast<int64_t>(positions.size()) < 2 * dim + 4) continue;
    return FitShift(*probe, positions);
  }
  return NotRun(absl::StrCat("a fit needs more positions than the ", served,
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
    return Dot(probe->Rotate(m, q), probe->RotateKey(n, k));
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
  const auto probe = Probe::Farthest(scheme, kFar);
  if (!probe.ok()) return NotRun(probe.status().message());
  const int64_t reach = probe->length();
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
  constexpr int kPlaces = 64;
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
  const auto farthest = Probe::Farthest(scheme, kFar);
  if (auto refusal = Refusal(farthest, 4)) return *refusal;
  const int64_t reach = farthest->length();
  RandomStream stream(kSeed, "properties.boundedness");
  const Row x = RandomRow(farthest->dim(), "properties.x");
  // Near: up to the root of the reach.
  double near = 0;
  const double far = Magnitude(*farthest, x, stream);
  int64_t near_end = 1;
  while (2 * near_end <= reach / (2 * near_end)) near_end *= 2;
  for (int64_t length = near_end; length > 1; length /= 32) {
    Raise(Magnitude(*Probe::Make(scheme, length), x, stream), &near);
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
    const Row last = farthest->Code(reach - 1);
    const double square = Dot(last, last);
    const double half = static_cast<double>(farthest->dim()) / 2;
    absl::StrAppend(&words, " The squared norm of the last code is ",
                    Digits(square, 8),
                    std::abs(square - half) <= kSame * half ? " = d / 2" : "",
                    " at width ", farthest->dim(), ".");
  }
  return Measured(ratio, 1.6, std::move(words));
}

// What shares a mark may do so far out only, hence neighbours at every octave.
Outcome Uniqueness(const Scheme& scheme) {
  const auto probe = Probe::WithinTable(scheme, kFar);
  if (auto refusal = Refusal(probe, 2)) return *refusal;
  const int64_t near = std::min(probe->length(), kRange);
  std::vector<int64_t> places(near);
  std::iota(places.begin(), places.end(), 0);
  for (int64_t end = 2 * near; end <= probe->length(); end *= 2) {
    places.insert(places.end(), {end - 2, end - 1});
  }
  std::vector<Row> marks;
  std::vector<double> same;
  for (const int64_t place : places) {
    marks.push_back(probe->Mark(place));
    same.push_back(kSame * LargestMagnitude(marks.back()));
  }
  int64_t collisions = 0;
  std::string first;
  for (size_t b = 1; b < places.size(); ++b) {
    for (size_t a = 0; a < b; ++a) {
      if (!AreWithin(std::max(same[a], same[b]), marks[a], marks[b])) continue;
      if (collisions++ == 0) {
        first = absl::StrCat("; the first are ", places[a], " and ", places[b]);
      }
      break;
    }
  }
  const int64_t far_count = static_cast<int64_t>(places.size()) - near;
  return Measured(
      static_cast<double>(collisions), 0,
      absl::StrCat("Of the first ", near, " ", MarkWords(scheme),
                   far_count == 0
                       ? std::string()
                       : absl::StrCat(" and ", far_count, " others up to ",
                                      places.back()),
                   scheme.table_length() == 0 ? "" : ", within the table", ", ",
                   collisions, " equal an earlier one", first, "."));
}

namespace {

// What should fall with distance, one number for each curve.
Row Closeness(const Probe& probe, int64_t distance) {
  if (probe.code() != nullptr) {
    const Row origin = probe.Code(0);
    const Row code = probe.Code(distance);
    const double norms = Norm(origin) * Norm(code);
    return {norms > 0 ? Dot(origin, code) / norms : 0};
  }
  if (probe.rotation() != nullptr) {
    const Row ones(probe.dim(), 1.0);
    return {Dot(probe.RotateKey(0, ones), probe.Rotate(distance, ones))};
  }
  Row biases = probe.Mark(distance);
  if (!probe.bias()->is_causal()) {
    const Row after = probe.Bias(0, distance);  // keys after the query
    biases.insert(biases.end(), after.begin(), after.end());
  }
  return biases;
}

}  // namespace

// The first steps may all fall where a code is wide, hence one step at every
// octave too.
Outcome MonotonicDecay(const Scheme& scheme) {
  constexpr int64_t kSteps = 63;
  // Few steps may all fall by chance.
  const auto probe = Probe::Farthest(scheme, kFar);
  if (auto refusal = Refusal(probe, 8)) return *refusal;
  int64_t steps = 0;
  int64_t violations = 0;
  const auto step_to = [&](int64_t distance) {
    const Row before = Closeness(*probe, distance - 1);
    const Row after = Closeness(*probe, distance);
    for (size_t n = 0; n < after.size(); ++n) {
      ++steps;
      // Written so that a NaN is one.
      if (!(after[n] < before[n])) ++violations;
    }
  };
  const int64_t last = probe->length() - 1;
  for (int64_t n = 1; n <= std::min(last, kSteps); ++n) step_to(n);
  for (int64_t n = 2 * kSteps + 1; n <= last; n = 2 * n + 1) step_to(n);
  const absl::string_view what = scheme.site() == Site::kScores
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
                   ": of ", steps, " steps away, ", what, " fails to fall in ",
                   violations, "."));
}

std::optional<Outcome> SlopesGeometric(const Scheme& scheme) {
  if (scheme.site() != Site::kScores) return std::nullopt;
  // Tables of biases for eight heads would be drawn in vain.
  const auto narrow = Probe::Make(scheme, 2);
  if (!narrow.ok() || narrow->bias() == nullptr) return std::nullopt;
  if (narrow->bias()->slopes().empty()) return std::nullopt;
  const auto probe = Probe::Make(scheme, 2, /*dim=*/16, /*head_count=*/8);
  const Row said = probe->bias()->slopes();
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
  const auto farthest = Probe::Farthest(scheme, 1024);
  if (auto refusal = Refusal(farthest, 2 * kShort)) return *refusal;
  const std::vector<Row> marks = Marks(*Probe::Make(scheme, kShort), kShort);
  const int64_t longest = farthest->length();
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
  const auto probe = Probe::Farthest(scheme, kRange);
  if (auto refusal = Refusal(probe, 2)) return *refusal;
  const int64_t count = probe->length();
  const std::vector<Row> marks = Marks(*probe, count);
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
