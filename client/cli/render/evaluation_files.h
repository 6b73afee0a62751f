// The files that `locus evaluate` writes to its output folder.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/report/manifest.h"

namespace locus::client {

// Maximum size of a manifest; larger files are rejected.
inline constexpr int64_t kMaxManifestBytes = int64_t{64} << 20;

// Creates the folder and writes a temporary file to it, so that a wrong path or
// a full disk is reported before the evaluation starts.
absl::Status PrepareFolder(const std::string& folder);

// Removes the files of an earlier evaluation from the folder: the charts and
// the report that belong to its manifest.json, the manifest itself, and
// cells.csv. Removes nothing if the manifest equals `manifest_text`, because
// the folder then holds the same evaluation. Other files are never removed.
absl::Status RemoveEarlierEvaluation(const std::string& folder,
                                     const std::string& manifest_text);

// Writes manifest.json, report.html, one SVG chart per metric, and
// attention.svg if cells have attention maps. Returns the number of files
// written. Each file is replaced atomically.
absl::StatusOr<int> WriteEvaluation(
    const std::string& folder, const Manifest& manifest,
    const std::string& manifest_text,
    const std::vector<v1::EvaluationCell>& cells);

// Writes cells.csv.
absl::Status WriteCells(const std::string& folder,
                        const std::vector<v1::EvaluationCell>& cells);

}  // namespace locus::client
