// Checks of the schemes of an evaluation.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "core/base/status.h"
#include "core/evaluation/evaluation_plan.h"

namespace locus {

std::vector<EvaluatedLayer> DistinctLayers(const EvaluatedScheme& evaluated) {
  std::vector<EvaluatedLayer> distinct;
  for (const EvaluatedLayer& layer : evaluated.layers) {
    const bool known = absl::c_any_of(distinct, [&](const auto& other) {
      return other.scheme == layer.scheme;
    });
    if (!known) distinct.push_back(layer);
  }
  if (distinct.empty()) distinct.push_back({.scheme = evaluated.scheme});
  return distinct;
}

// Checks the layers and the random positions of a scheme, without compiling it.
absl::Status EvaluationJob::Plan::CheckLayersAndPositions(
    const EvaluatedScheme& evaluated) const {
  if (pattern() != nullptr) {
    constexpr absl::string_view kUntrained =
        "is set; pattern mode has a single layer and no training";
    if (!evaluated.layers.empty()) {
      return InvalidField("scheme.layers", kUntrained);
    }
    if (evaluated.randomization) {
      return InvalidField("scheme.randomized", kUntrained);
    }
    return absl::OkStatus();
  }
  const auto period = static_cast<int64_t>(evaluated.layers.size());
  if (period > shape.layer_count) {
    return InvalidField(
        "scheme.layers.period",
        absl::StrCat("is ", period, "; the model has ", shape.layer_count,
                     " layers, so that some entries would not be used; "
                     "increase trained.model.layer_count"));
  }
  if (!evaluated.randomization) return absl::OkStatus();
  const int64_t maximum = evaluated.randomization->maximum;
  const int64_t needed = evaluated.randomizes_tests
                             ? settings.eval_lengths.back()
                             : settings.train_length;
  if (maximum < needed || maximum > kMaxRandomized) {
    return InvalidField(
        "scheme.randomized.maximum",
        absl::StrCat("is ", maximum, "; must be from ", needed, ", the longest",
                     evaluated.randomizes_tests ? "" : " training",
                     " sequence, to ", kMaxRandomized));
  }
  return absl::OkStatus();
}

// Checks that a scheme can be tested with a model that was trained with
// rotations: all layers must rotate, or some of them have no positions.
absl::Status EvaluationJob::Plan::CheckRotations(
    const EvaluatedScheme& evaluated) const {
  const auto layers = DistinctLayers(evaluated);
  for (const EvaluatedLayer& layer : layers) {
    const Site site = layer.scheme->site();
    if (site == Site::kQueriesAndKeys) continue;
    if (site == Site::kNone && layers.size() > 1) continue;
    return InvalidField(layer.field,
                        absl::StrCat("is ", layer.scheme->name(),
                                     "; a model trained with rotated queries "
                                     "and keys can only be tested with schemes "
                                     "that rotate them"));
  }
  return absl::OkStatus();
}

// Checks that a scheme fits the model at the largest length, and hence at all.
absl::Status EvaluationJob::Plan::CheckScheme(size_t n) {
  const EvaluatedScheme& evaluated = schemes[n];
  int64_t length = settings.eval_lengths.back();
  LOCUS_RETURN_IF_ERROR(CheckLayersAndPositions(evaluated));
  if (pattern() != nullptr) {
    return CheckPattern(PatternCaseFor(n, length, settings.seed));
  }
  if (trains_once()) LOCUS_RETURN_IF_ERROR(CheckRotations(evaluated));
  if (evaluated.randomization) {
    length = std::max(length, evaluated.randomization->maximum);
  }
  int64_t parameter_count = 0;
  for (const EvaluatedLayer& layer : DistinctLayers(evaluated)) {
    const auto count =
        PositionTables<float>::ParameterCount(*layer.scheme, shape, length);
    if (!count.ok()) return Renamed("scheme", layer.field, count.status());
    parameter_count += *count;
  }
  scheme_size = std::max(scheme_size, parameter_count);
  return absl::OkStatus();
}

}  // namespace locus
