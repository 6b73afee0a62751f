// Evaluations, for people to read.
#pragma once

#include <string>
#include <vector>

#include "client/report/manifest.h"

namespace locus::client {

// Schemes by lengths of the metric that decides, with the half width of its
// interval, who learned the task, and the winner with its reason, in lines of
// `width`.
std::string FormatEvaluation(const Manifest& manifest, int width);

// What was finished of an evaluation that did not end: every cell with its
// metrics.
std::string FormatCells(const std::vector<v1::EvaluationCell>& cells);

// The same as comma-separated values with a heading: scheme, seed, length,
// metric, value.
std::string CellsCsv(const std::vector<v1::EvaluationCell>& cells);

}  // namespace locus::client
