// Evaluation results as text tables and CSV.
#pragma once

#include <string>
#include <vector>

#include "client/report/manifest.h"

namespace locus::client {

// The table of the deciding metric, with schemes as rows and lengths as
// columns: the mean with the half width of its 95 % interval, and whether the
// scheme learned the task. A star marks the best mean at a length if its
// interval is better than chance. Below it effective lengths and spreads,
// answers, and the verdict. Text is wrapped at `width` columns.
std::string FormatEvaluation(const Manifest& manifest, int width);

// One line per cell with its metrics, for an evaluation that did not finish.
std::string FormatCells(const std::vector<v1::EvaluationCell>& cells);

// All metrics of all cells as CSV with the columns scheme, seed, length, metric
// and value.
std::string CellsCsv(const std::vector<v1::EvaluationCell>& cells);

}  // namespace locus::client
