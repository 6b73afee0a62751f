// What `locus evaluate` leaves in a folder.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "client/report/manifest.h"

namespace locus::client {

// Makes the folder and tries to write to it, so that a mistake or a full disk
// is known before the work, not after.
absl::Status PrepareFolder(const std::string& folder);

// manifest.json, report.html, a chart for each metric as SVG, and attention.svg
// if cells have maps. Each file appears complete or not at all.
absl::Status WriteEvaluation(const std::string& folder,
                             const Manifest& manifest,
                             const std::string& manifest_text,
                             const std::vector<v1::EvaluationCell>& cells);

// cells.csv.
absl::Status WriteCells(const std::string& folder,
                        const std::vector<v1::EvaluationCell>& cells);

}  // namespace locus::client
