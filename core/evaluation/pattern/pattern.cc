#include "core/evaluation/pattern/pattern.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/status.h"
#include "core/encoding/compiled.h"
#include "core/evaluation/pattern/attention_map.h"
#include "core/evaluation/pattern/head_attention.h"
#include "core/evaluation/pattern/head_sums.h"
#include "core/evaluation/pattern/parts.h"
#include "core/evaluation/pattern/projections.h"
#include "core/evaluation/pattern/scheme_measures.h"
#include "core/parallel/cancellation.h"

namespace locus {
namespace {

absl::StatusOr<CompiledScheme> CompileScheme(const PatternCase& pattern_case) {
  const Scheme& scheme = *pattern_case.scheme.scheme;
  const PatternSettings& settings = pattern_case.settings;
  const bool on_embeddings = scheme.site() == Site::kEmbeddings;
  LOCUS_ASSIGN_OR_RETURN(
      CompiledScheme compiled,
      scheme.Compile({.dim = on_embeddings ? settings.dim
                                           : settings.dim / settings.head_count,
                      .head_count = settings.head_count,
                      .max_position = pattern_case.eval_length - 1}));
  if (IsCausal(compiled) && !settings.causal) {
    return InvalidField(
        absl::StrCat("scheme.", scheme.name()),
        "is defined for causal attention only, and pattern.causal is false");
  }
  return compiled;
}

// Measures one cell.
class CellMeasurement {
 public:
  CellMeasurement(const PatternCase& pattern_case,
                  const CompiledScheme& compiled, ThreadPool& pool,
                  const CancellationCheck& stop)
      : case_(pattern_case),
        compiled_(compiled),
        pool_(pool),
        cancellation_(stop) {}

  absl::StatusOr<EvaluationCell> Run() {
    cell_.scheme_name = case_.scheme.name;
    cell_.seed = case_.seed;
    cell_.eval_length = case_.eval_length;
    MeasureContent(PatternContent::kDrawn, "");
    MeasureContent(PatternContent::kShared, "_shared");
    for (const auto& [name, value] :
         MeasureScheme(case_, compiled_, cancellation_)) {
      Set(name, value);
    }
    LOCUS_RETURN_IF_ERROR(cancellation_.status());
    return std::move(cell_);
  }

 private:
  void Set(absl::string_view name, double value) {
    if (std::isfinite(value)) cell_.metrics[std::string(name)] = value;
  }

  int64_t head_count() const { return case_.settings.head_count; }

  void MeasureContent(PatternContent content, absl::string_view suffix) {
    const Projections projections =
        Project(case_, content, &compiled_, pool_, cancellation_);
    const bool with_map =
        content == PatternContent::kDrawn && case_.settings.map_size > 0;
    double entropy = 0;
    double window_mass = 0;
    double distance = 0;
    double drift = 0;
    for (int64_t h = 0; h < head_count() && !cancellation_.ShouldStop(); ++h) {
      const HeadAttention head(case_, projections, BiasOf(compiled_), h);
      std::optional<AttentionMap> map;
      if (with_map) map.emplace(case_.eval_length, case_.settings.map_size);
      const HeadSums sums =
          SumHead(case_, head, map ? &*map : nullptr, pool_, cancellation_);
      if (sums.entropy_queries > 0) {
        entropy += sums.entropy / sums.entropy_queries;
      }
      window_mass += sums.window_mass / sums.queries;
      distance += sums.distance / sums.queries;
      drift += sums.ScoreDrift();
      if (map) WriteMap(h, *map);
    }
    const double heads = static_cast<double>(head_count());
    Set(absl::StrCat("entropy", suffix), entropy / heads);
    Set(absl::StrCat("window_mass", suffix), window_mass / heads);
    Set(absl::StrCat("mean_distance", suffix), distance / heads);
    Set(absl::StrCat("score_drift", suffix), drift / heads);
    if (content == PatternContent::kShared) MeasurePositionEffect(projections);
  }

  void WriteMap(int64_t head, const AttentionMap& map) {
    const int64_t size = map.size();
    if (!cell_.attention_map) {
      cell_.attention_map.emplace(DType::kFloat32,
                                  Shape{head_count(), size, size});
    }
    std::vector<float> values(size * size);
    map.Write(values.data());
    WriteRow(DType::kFloat32, values.data(), size * size,
             cell_.attention_map->at(head * size * size));
  }

  void MeasurePositionEffect(const Projections& projections) {
    const Projections without_positions =
        Project(case_, PatternContent::kShared, nullptr, pool_, cancellation_);
    double effect = 0;
    for (int64_t h = 0; h < head_count() && !cancellation_.ShouldStop(); ++h) {
      effect += HeadDifference(
          case_, HeadAttention(case_, projections, BiasOf(compiled_), h),
          HeadAttention(case_, without_positions, nullptr, h), pool_,
          cancellation_);
    }
    Set("position_effect", effect / static_cast<double>(head_count()));
  }

  const PatternCase& case_;
  const CompiledScheme& compiled_;
  ThreadPool& pool_;
  CancellationState cancellation_;
  EvaluationCell cell_;
};

}  // namespace

int64_t PatternScratchBytes(const PatternSettings& settings,
                            int64_t eval_length) {
  constexpr int64_t kNumber = sizeof(double);
  const int64_t map_size = std::min(settings.map_size, eval_length);
  // In this order: weights; queries and keys with and without positions; the
  // rows of all parts; biases of two heads; the map.
  return kNumber * (2 * settings.dim * settings.dim +
                    eval_length * (4 * settings.dim + 3 * kPatternParts + 4)) +
         map_size * 4 * (eval_length + (settings.head_count + 1) * map_size);
}

double PatternFlops(const PatternSettings& settings, int64_t eval_length) {
  // Cost of an exponential, a logarithm and the sums for each score.
  constexpr double kPerScore = 60;
  // Cost of drawing a normal random number.
  constexpr double kPerDraw = 30;
  const double length = static_cast<double>(eval_length);
  const double dim = static_cast<double>(settings.dim);
  const double heads = static_cast<double>(settings.head_count);
  const double pairs =
      settings.causal ? length * (length + 1) / 2 : length * length;
  const double sampled =
      std::min(length, static_cast<double>(kMaxSampled)) * length;
  return (2 * pairs + 2 * sampled) * (2 * dim + kPerScore * heads) +
         3 * length * dim * (4 * dim + kPerDraw) + 6 * dim * dim * kPerDraw;
}

absl::Status CheckPattern(const PatternCase& pattern_case) {
  const PatternSettings& settings = pattern_case.settings;
  if (settings.head_count < 1 || settings.dim % settings.head_count != 0) {
    return InvalidField(
        "pattern.head_count",
        absl::StrCat("is ", settings.head_count,
                     "; must be positive and divide dim = ", settings.dim));
  }
  return CompileScheme(pattern_case).status();
}

absl::StatusOr<EvaluationCell> MeasurePattern(const PatternCase& pattern_case,
                                              ThreadPool& pool,
                                              const CancellationCheck& stop) {
  LOCUS_RETURN_IF_ERROR(CheckPattern(pattern_case));
  LOCUS_ASSIGN_OR_RETURN(const CompiledScheme compiled,
                         CompileScheme(pattern_case));
  return CellMeasurement(pattern_case, compiled, pool, stop).Run();
}

}  // namespace locus
