// What `locus evaluate` leaves in a folder.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "client/report/manifest.h"

namespace locus::client {

// More is no manifest of ours.
inline constexpr int64_t kMaxManifestBytes = int64_t{64} << 20;

// Makes the folder and tries to write to it, so that a mistake or a full disk
// is known before the work, not after.
absl::Status PrepareFolder(const std::string& folder);

// Removes what an earlier evaluation left, so that nothing of it stands beside
// what is about to be written: the files that its manifest says were written,
// that manifest, and cells.csv. Files without such a manifest stay, and so does
// everything if the manifest is `manifest_text`: then it is the same
// evaluation.
absl::Status RemoveEarlierEvaluation(const std::string& folder,
                                     const std::string& manifest_text);

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
