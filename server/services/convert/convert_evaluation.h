// Conversion of evaluations between protobuf messages and the types of core.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/evaluation/evaluation.h"
#include "core/properties/properties.h"
#include "locus/v1/evaluation.pb.h"
#include "server/services/convert/convert.h"

namespace locus::server {

// A layer of a trained model whose scheme differs from the first layers'.
struct OtherLayer {
  ResolvedScheme resolved;
  int64_t window = 0;
};

// A scheme of a plan. Everything but `name`, `label` and `resolved` applies
// only to trained models.
struct NamedScheme {
  // Unique within a plan; see scheme_names.h.
  std::string name;
  // As given by the request; empty if there is none.
  std::string label = "";
  ResolvedScheme resolved;
  // The layers repeat with this period: `period` - `others`.size() layers with
  // the scheme itself and this attention window, then one layer for each of
  // `others`. With a period of 0 all layers have the scheme itself.
  int64_t period = 0;
  int64_t window = 0;
  std::vector<OtherLayer> others = {};
  // Randomised positions in training, and whether tests have them too.
  std::optional<Randomization> randomization = std::nullopt;
  bool randomizes_tests = false;
};

// A CheckProperties request, with defaults filled in.
struct PropertiesPlan {
  std::vector<NamedScheme> schemes;
  // Whether to check the naive encodings too.
  bool naive = false;
};
absl::StatusOr<PropertiesPlan> ToPropertiesPlan(
    const v1::CheckPropertiesRequest& request);

// An EvaluateExtrapolation request, with defaults filled in.
struct EvaluationPlan {
  EvaluationSettings settings;
  std::vector<NamedScheme> schemes;

  std::vector<EvaluatedScheme> evaluated_schemes() const;
  // Upper bound of the size of a result cell, in bytes.
  int64_t max_cell_bytes() const;
};
absl::StatusOr<EvaluationPlan> ToEvaluationPlan(
    const v1::EvaluateExtrapolationRequest& request);

// Upper bounds of the memory that ToPropertiesPlan() and ToEvaluationPlan()
// allocate.
int64_t PlanBytes(const v1::CheckPropertiesRequest& request);
int64_t PlanBytes(const v1::EvaluateExtrapolationRequest& request);

void ToProto(const PropertyResult& result, v1::PropertyResult* proto);
v1::VerdictKind ToProto(VerdictKind kind);
void ToProto(const EvaluationProgress& progress, double remaining_seconds,
             v1::EvaluationProgress* proto);
void ToProto(EvaluationCell cell, v1::EvaluationCell* proto);
// Sets everything except the manifest.
void ToProto(const EvaluationSummary& summary, v1::EvaluationSummary* proto);

}  // namespace locus::server
