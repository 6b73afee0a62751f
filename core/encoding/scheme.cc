#include "core/encoding/scheme.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/status.h"
#include "core/encoding/angles.h"
#include "core/encoding/apply.h"

namespace locus {

void AdditiveCode::Rows(const Positions& positions, int64_t first,
                        int64_t count, absl::Span<double> rows, Writes) const {
  for (int64_t i = 0; i < count; ++i) {
    const size_t dim = rows.size() / count;
    Row(positions[first + i], rows.subspan(i * dim, dim));
  }
}

void AdditiveCode::Rows(const Positions& positions, int64_t first,
                        int64_t count, absl::Span<float> rows, Writes) const {
  std::vector<double> row(rows.size() / std::max<int64_t>(count, 1));
  float* to = rows.data();
  for (int64_t i = 0; i < count; ++i) {
    Row(positions[first + i], absl::MakeSpan(row));
    to = std::copy(row.begin(), row.end(), to);
  }
}

namespace {

template <typename T>
AngleTable<T> TableOf(const Rotation& rotation, T* cos, T* sin, Writes writes) {
  return {.frequencies = rotation.frequencies,
          .factor = rotation.attention_factor,
          .sin = sin,
          .cos = cos,
          .stride = rotation.pair_count(),
          .writes = writes};
}

// What frameworks compute: frequency, angle, cosine and sine each rounded to
// single precision.
template <typename T>
void SinglePrecisionAngles(const Rotation& rotation, int64_t position, T* cos,
                           T* sin) {
  const auto factor = static_cast<float>(rotation.attention_factor);
  for (int64_t k = 0; k < rotation.pair_count(); ++k) {
    const float angle = static_cast<float>(position) *
                        static_cast<float>(rotation.frequencies[k]);
    cos[k] = static_cast<T>(std::cos(angle) * factor);
    sin[k] = static_cast<T>(std::sin(angle) * factor);
  }
}

// The factors of a rotation's growth at one position after the other. At
// multiples of 64 they are computed afresh, and from there each is the one
// before times a constant, so that what they are depends on the position alone.
// Where a factor grows so fast that those at a multiple of 64 may be too large
// while that of the position is not, all are computed afresh.
class Growth {
 public:
  explicit Growth(const Rotation& rotation)
      : rotation_(rotation),
        steps_(rotation.growth.size()),
        factors_(rotation.growth.size()) {
    constexpr double kMostGrowth = 64;  // of a logarithm, between fresh ones
    for (size_t k = 0; k < steps_.size(); ++k) {
      steps_[k] = std::exp(rotation.growth[k]);
      is_steep_ |= std::abs(rotation.growth[k]) * kFreshPositions > kMostGrowth;
    }
  }

  // Multiplies one row of cosines and of sines.
  template <typename T>
  void Apply(int64_t position, T* cos, T* sin) {
    MoveTo(position);
    for (size_t k = 0; k < factors_.size(); ++k) {
      cos[k] = static_cast<T>(cos[k] * factors_[k]);
      sin[k] = static_cast<T>(sin[k] * factors_[k]);
    }
  }

 private:
  void MoveTo(int64_t position) {
    int64_t steps = is_steep_ ? 0 : position & (kFreshPositions - 1);
    if (steps != 0 && position_ && position - 1 == *position_) {
      steps = 1;
    } else {
      const auto distance =
          static_cast<double>(position - steps - rotation_.centre);
      for (size_t k = 0; k < factors_.size(); ++k) {
        factors_[k] = std::exp(rotation_.growth[k] * distance);
      }
    }
    for (; steps > 0; --steps) {
      for (size_t k = 0; k < factors_.size(); ++k) factors_[k] *= steps_[k];
    }
    position_ = position;
  }

  const Rotation& rotation_;
  bool is_steep_ = false;
  std::vector<double> steps_;
  std::vector<double> factors_;
  std::optional<int64_t> position_;  // of the factors
};

}  // namespace

Rotation Rotation::OfKeys() const {
  Rotation keys = *this;
  for (double& growth : keys.growth) growth = -growth;
  return keys;
}

template <typename T>
void Rotation::Angles(int64_t position, T* cos, T* sin) const {
  if (single_precision) {
    SinglePrecisionAngles(*this, position, cos, sin);
  } else {
    FillAngles(TableOf(*this, cos, sin, Writes::kThroughCache), position);
  }
  if (!growth.empty()) Growth(*this).Apply(position, cos, sin);
}

template <typename T>
void Rotation::AngleRows(const Positions& positions, int64_t first,
                         int64_t count, T* cos, T* sin, Writes writes) const {
  if (!single_precision) {
    FillAngles(TableOf(*this, cos, sin,
                       growth.empty() ? writes : Writes::kThroughCache),
               positions, first, count);
  } else {
    for (int64_t i = 0; i < count; ++i) {
      SinglePrecisionAngles(*this, positions[first + i], cos + i * pair_count(),
                            sin + i * pair_count());
    }
  }
  if (growth.empty()) return;
  Growth factors(*this);
  for (int64_t i = 0; i < count; ++i) {
    factors.Apply(positions[first + i], cos + i * pair_count(),
                  sin + i * pair_count());
  }
}

template <typename T>
void Rotation::Apply(const T* cos, const T* sin, T* row) const {
  Turn<T>({.width = 2 * pair_count(),
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
                                  float*, Writes) const;
template void Rotation::AngleRows(const Positions&, int64_t, int64_t, double*,
                                  double*, Writes) const;
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
  }
  return "";
}

Scheme::Scheme(const SchemeInfo& info, std::unique_ptr<SchemeFormula> formula)
    : info_(info), formula_(std::move(formula)) {}

absl::Status Scheme::Place(Positions* queries, Positions* keys) const {
  if (!randomization_) return absl::OkStatus();
  const absl::Status placed = locus::Randomize(*randomization_, queries, keys);
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
