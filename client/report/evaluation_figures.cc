#include "client/report/evaluation_figures.h"

#include <algorithm>
#include <limits>
#include <numbers>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "client/report/charts.h"
#include "client/report/manifest_details.h"

namespace locus::client {
namespace {

// Returns the values of one scheme and metric, one for each seed and length.
std::vector<plot::Point> SeedValues(
    const std::vector<v1::EvaluationCell>& cells, const std::string& scheme,
    const std::string& metric) {
  std::vector<plot::Point> values;
  for (const v1::EvaluationCell& cell : cells) {
    const auto found = cell.metrics().find(metric);
    if (cell.scheme_name() != scheme || found == cell.metrics().end()) continue;
    values.push_back({static_cast<double>(cell.eval_length()), found->second});
  }
  return values;
}

std::vector<ChartFigure::Unit> NatsAndBits() {
  return {{"nats per byte", 1}, {"bits per byte", std::numbers::log2e}};
}

// Returns the curve of one run.
plot::Curve LossCurve(const TrainingLosses& losses, int series) {
  plot::Curve curve{.name = absl::StrCat("seed ", losses.seed),
                    .series = series};
  for (size_t i = 0; i < losses.steps.size(); ++i) {
    const double loss = losses.losses[i];
    curve.points.push_back({losses.steps[i], loss, loss, loss});
  }
  return curve;
}

// Returns the range of all losses.
plot::Interval LossRange(const std::vector<TrainingLosses>& curves) {
  plot::Interval range{std::numeric_limits<double>::infinity(), 0};
  for (const TrainingLosses& curve : curves) {
    for (const double loss : curve.losses) {
      if (!plot::IsDrawable(loss)) continue;
      range = {std::min(range.low, loss), std::max(range.high, loss)};
    }
  }
  if (range.low > range.high) return {0, 1};
  const double margin = 0.05 * std::max(1e-6, range.high - range.low);
  return {std::max(0.0, range.low - margin), range.high + margin};
}

}  // namespace

std::vector<ChartFigure> EvaluationFigures(
    const Manifest& manifest, const std::vector<v1::EvaluationCell>* cells) {
  const std::vector<std::string> schemes = SchemesOf(manifest);
  std::vector<ChartFigure> figures;
  for (NamedChart& named : ChartsOf(manifest)) {
    ChartFigure figure{.name = named.name, .chart = std::move(named.chart)};
    if (absl::StartsWith(figure.name, "nll")) figure.units = NatsAndBits();
    for (const plot::Curve& curve : figure.chart.curves) {
      if (cells == nullptr) break;
      figure.seeds.push_back(
          SeedValues(*cells, schemes[curve.series], figure.name));
    }
    figures.push_back(std::move(figure));
  }
  return figures;
}

std::vector<ChartFigure> LossFigures(const Manifest& manifest) {
  const std::vector<TrainingLosses> curves = TrainingCurvesOf(manifest);
  const std::vector<std::string> schemes = SchemesOf(manifest);
  std::vector<ChartFigure> figures;
  for (size_t i = 0; i < schemes.size(); ++i) {
    ChartFigure figure{.name = absl::StrCat("loss-", i + 1), .small = true};
    figure.chart = {.title = schemes[i],
                    .x_label = "step",
                    .y_label = "loss",
                    .markers = false,
                    .y_range = LossRange(curves)};
    for (const TrainingLosses& curve : curves) {
      if (curve.scheme != schemes[i]) continue;
      figure.chart.curves.push_back(LossCurve(curve, static_cast<int>(i)));
    }
    if (!figure.chart.curves.empty()) figures.push_back(std::move(figure));
  }
  return figures;
}

}  // namespace locus::client
