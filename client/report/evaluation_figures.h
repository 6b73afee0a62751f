// The charts of an evaluation within its report.
#pragma once

#include <vector>

#include "client/report/chart_figure.h"
#include "client/report/manifest.h"

namespace locus::client {

// Returns the charts of ChartsOf() as figures, in the same order. Charts of the
// negative log-likelihood can be switched to bits. If `cells` is not null,
// charts have the values of single seeds.
std::vector<ChartFigure> EvaluationFigures(
    const Manifest& manifest, const std::vector<v1::EvaluationCell>* cells);

// Returns one chart of the training losses for each scheme, with a curve for
// each seed and with the same axes. Empty if the manifest has no losses.
std::vector<ChartFigure> LossFigures(const Manifest& manifest);

}  // namespace locus::client
