#include "core/encoding/scheme.h"

#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/status.h"

namespace locus {

template <typename T>
void Rotation::Angles(int64_t position, T* cos, T* sin) const {
  for (int64_t k = 0; k < pair_count(); ++k) {
    const double angle = static_cast<double>(position) * frequencies[k];
    cos[k] = static_cast<T>(attention_factor * std::cos(angle));
    sin[k] = static_cast<T>(attention_factor * std::sin(angle));
  }
}

template <typename T>
void Rotation::AngleRows(const Positions& positions, int64_t first,
                         int64_t count, T* cos, T* sin) const {
  for (int64_t i = 0; i < count; ++i) {
    Angles(positions[first + i], cos + i * pair_count(),
           sin + i * pair_count());
  }
}

template <typename T>
void Rotation::Apply(const T* cos, const T* sin, T* row) const {
  const int64_t pairs = pair_count();
  const bool adjacent = pairing == Pairing::kAdjacent;
  const int64_t step = adjacent ? 2 : 1;
  const int64_t partner = adjacent ? 1 : pairs;
  for (int64_t k = 0; k < pairs; ++k) {
    T* const a = row + k * step;
    T* const b = a + partner;
    const T x = *a;
    const T y = *b;
    *a = x * cos[k] - y * sin[k];
    *b = x * sin[k] + y * cos[k];
  }
}

template void Rotation::Angles(int64_t, float*, float*) const;
template void Rotation::Angles(int64_t, double*, double*) const;
template void Rotation::AngleRows(const Positions&, int64_t, int64_t, float*,
                                  float*) const;
template void Rotation::AngleRows(const Positions&, int64_t, int64_t, double*,
                                  double*) const;
template void Rotation::Apply(const float*, const float*, float*) const;
template void Rotation::Apply(const double*, const double*, double*) const;

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
