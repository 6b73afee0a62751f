// Evaluations, from proto to core and back.
#pragma once

#include <cstdint>
#include <map>
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

// Names of schemes, told apart: rope, rope#2, rope#3.
class UniqueNames {
 public:
  std::string Make(absl::string_view name);

 private:
  std::map<std::string, int> counts_;
};

// A layer that has another scheme.
struct OtherLayer {
  ResolvedScheme resolved;
  int64_t window = 0;
};

struct NamedScheme {
  std::string name;
  ResolvedScheme resolved;
  // Of trained models, whose layers may differ: the first period - others of
  // every period have the scheme itself. 0: all have.
  int64_t period = 0;
  int64_t window = 0;
  std::vector<OtherLayer> others = {};
  // And whose positions may be random.
  std::optional<Randomization> randomization = std::nullopt;
  bool randomizes_tests = false;
};

// What CheckProperties is asked for.
struct PropertiesPlan {
  std::vector<NamedScheme> schemes;
  bool naive = false;
};
absl::StatusOr<PropertiesPlan> ToPropertiesPlan(
    const v1::CheckPropertiesRequest& request);

// What EvaluateExtrapolation is asked for, with all that was left open chosen.
struct EvaluationPlan {
  EvaluationSettings settings;
  std::vector<NamedScheme> schemes;

  std::vector<EvaluatedScheme> evaluated_schemes() const;
  // The largest cell, in bytes.
  int64_t max_cell_bytes() const;
};
absl::StatusOr<EvaluationPlan> ToEvaluationPlan(
    const v1::EvaluateExtrapolationRequest& request);

// Bounds on what these two allocate.
int64_t PlanBytes(const v1::CheckPropertiesRequest& request);
int64_t PlanBytes(const v1::EvaluateExtrapolationRequest& request);

void ToProto(const PropertyResult& result, v1::PropertyResult* proto);
void ToProto(const EvaluationProgress& progress, double remaining_seconds,
             v1::EvaluationProgress* proto);
void ToProto(EvaluationCell cell, v1::EvaluationCell* proto);
// All but the manifest.
void ToProto(const EvaluationSummary& summary, v1::EvaluationSummary* proto);

}  // namespace locus::server
