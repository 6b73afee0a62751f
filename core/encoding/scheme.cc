#include "core/encoding/scheme.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/status.h"
#include "core/encoding/angles/angles.h"
#include "core/encoding/apply.h"

namespace locus {

void AdditiveCode::Rows(const Positions& positions, int64_t first,
                        int64_t count, absl::Span<double> rows,
                        StorePolicy) const {
  for (int64_t i = 0; i < count; ++i) {
    const size_t dim = rows.size() / count;
    Row(positions[first + i], rows.subspan(i * dim, dim));
  }
}

void AdditiveCode::Rows(const Positions& positions, int64_t first,
                        int64_t count, absl::Span<float> rows,
                        StorePolicy) const {
  std::vector<double> row(rows.size() / std::max<int64_t>(count, 1));
  float* to = rows.data();
  for (int64_t i = 0; i < count; ++i) {
    Row(positions[first + i], absl::MakeSpan(row));
    to = std::copy(row.begin(), row.end(), to);
  }
}

void ScoreBias::Row(int64_t head, int64_t query_position, const Positions& keys,
                    int64_t first, int64_t count, double* values) const {
  for (int64_t j = 0; j < count; ++j) {
    values[j] = At(head, query_position, keys[first + j]);
  }
}

void ScoreBias::Offsets(int64_t head, int64_t first, int64_t count,
                        double* values) const {
  for (int64_t n = 0; n < count; ++n) {
    const int64_t offset = first + n;
    values[n] =
        At(head, std::max<int64_t>(offset, 0), std::max<int64_t>(-offset, 0));
  }
}

namespace {

template <typename T>
AngleTable<T> TableOf(const Rotation& rotation, T* cos, T* sin,
                      StorePolicy store_policy) {
  return {.frequencies = rotation.frequencies,
          .factor = rotation.attention_factor,
          .growth = rotation.growth,
          .centre = static_cast<double>(rotation.centre),
          .sin = sin,
          .cos = cos,
          .stride = rotation.pair_count(),
          .store_policy = store_policy};
}

// Computes angles as common frameworks do: position, angle, cosine and sine are
// each rounded to single precision, as the frequencies already are. Cosines and
// sines are rounded from double, so that the results do not depend on the
// single-precision functions of the local libm.
template <typename T>
void SinglePrecisionAngles(const Rotation& rotation, int64_t position, T* cos,
                           T* sin) {
  const auto factor = static_cast<float>(rotation.attention_factor);
  for (int64_t k = 0; k < rotation.pair_count(); ++k) {
    const double angle = static_cast<float>(position) *
                         static_cast<float>(rotation.frequencies[k]);
    cos[k] = static_cast<T>(static_cast<float>(std::cos(angle)) * factor);
    sin[k] = static_cast<T>(static_cast<float>(std::sin(angle)) * factor);
  }
}

}  // namespace

Rotation Rotation::OfKeys() const {
  Rotation keys = *this;
  for (double& rate : keys.growth) rate = -rate;
  return keys;
}

double Rotation::GrowthExponent(int64_t first, int64_t last) const {
  double steepest = 0;
  for (const double rate : growth)
    steepest = std::max(steepest, std::abs(rate));
  const double middle = static_cast<double>(centre);
  const double farthest = std::max(static_cast<double>(last) - middle,
                                   middle - static_cast<double>(first));
  return steepest * std::max(farthest, 0.0) / std::numbers::ln2;
}

template <typename T>
void Rotation::Angles(int64_t position, T* cos, T* sin) const {
  if (single_precision) {
    SinglePrecisionAngles(*this, position, cos, sin);
  } else {
    FillAngles(TableOf(*this, cos, sin, StorePolicy::kCached), position);
  }
}

template <typename T>
void Rotation::AngleRows(const Positions& positions, int64_t first,
                         int64_t count, T* cos, T* sin,
                         StorePolicy store_policy) const {
  if (!single_precision) {
    FillAngles(TableOf(*this, cos, sin, store_policy), positions, first, count);
    return;
  }
  for (int64_t i = 0; i < count; ++i) {
    SinglePrecisionAngles(*this, positions[first + i], cos + i * pair_count(),
                          sin + i * pair_count());
  }
}

template <typename T>
void Rotation::Apply(const T* cos, const T* sin, T* row) const {
  RotateRows<T>({.width = 2 * pair_count(),
                 .pairs = pair_count(),
                 .adjacent = pairing == Pairing::kAdjacent,
                 .cos = cos,
                 .sin = sin,
                 .input = row,
                 .output = row});
}

template void Rotation::Angles(int64_t, float*, float*) const;
template void Rotation::Angles(int64_t, double*, double*) const;
template void Rotation::AngleRows(const Positions&, int64_t, int64_t, float*,
                                  float*, StorePolicy) const;
template void Rotation::AngleRows(const Positions&, int64_t, int64_t, double*,
                                  double*, StorePolicy) const;
template void Rotation::Apply(const float*, const float*, float*) const;
template void Rotation::Apply(const double*, const double*, double*) const;

bool IsCausal(const CompiledScheme& compiled) {
  if (const auto* rotation = std::get_if<Rotation>(&compiled)) {
    return rotation->is_causal;
  }
  const auto* bias = std::get_if<std::unique_ptr<ScoreBias>>(&compiled);
  return bias != nullptr && (*bias)->is_causal();
}

absl::string_view NameOf(Property property) {
  switch (property) {
    case Property::kPermutationEquivariance:
      return "permutation_equivariance";
    case Property::kJointEquivariance:
      return "joint_equivariance";
    case Property::kShiftInvariance:
      return "shift_invariance";
    case Property::kLinearShift:
      return "linear_shift";
    case Property::kRelativeRotation:
      return "relative_rotation";
    case Property::kNormPreservation:
      return "norm_preservation";
    case Property::kBoundedness:
      return "boundedness";
    case Property::kUniqueness:
      return "uniqueness";
    case Property::kMonotonicDecay:
      return "monotonic_decay";
    case Property::kSmoothness:
      return "smoothness";
    case Property::kLengthIndependence:
      return "length_independence";
    case Property::kOpenEndedness:
      return "open_endedness";
    case Property::kDeterminism:
      return "determinism";
  }
  return "";
}

Scheme::Scheme(const SchemeInfo& info, std::unique_ptr<SchemeFormula> formula)
    : info_(info), formula_(std::move(formula)) {}

absl::Status Scheme::RandomizePositions(
    absl::Span<Positions* const> sequences) const {
  if (!randomization_) return absl::OkStatus();
  const absl::Status placed = locus::Randomize(*randomization_, sequences);
  return placed.ok() ? placed : Within("scheme.randomized", placed);
}

absl::StatusOr<CompiledScheme> Scheme::Compile(const Geometry& geometry) const {
  if (geometry.dim > kMaxDim) {
    return LimitExceeded(
        "dim", "max_dim",
        absl::StrCat("is ", geometry.dim, "; at most ", kMaxDim, " is served"));
  }
  if (geometry.head_count > kMaxHeadCount && site() == Site::kScores) {
    return LimitExceeded("head_count", "max_head_count",
                         absl::StrCat("is ", geometry.head_count, "; at most ",
                                      kMaxHeadCount, " are served"));
  }
  auto compiled = formula_->Compile(geometry);
  if (!compiled.ok()) {
    return Within(absl::StrCat("scheme.", name()), compiled.status());
  }
  return compiled;
}

}  // namespace locus
