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

// Creates the folder unless it exists.
absl::Status CreateFolder(const std::string& folder);
// Creates the folder and writes a temporary file to it, so that a wrong path or
// a full disk is reported before the evaluation starts.
absl::Status PrepareFolder(const std::string& folder);

// The path of the report in `folder`; empty if there is none.
std::string ExistingReport(const std::string& folder);

// The folder inside `folder` for an evaluation that did not finish, so that it
// does not replace a complete one.
std::string UnfinishedFolder(const std::string& folder);

// Writes manifest.json, report.html, one SVG chart per metric and, unless
// `cells` is null, cells.csv, and attention.svg if cells have attention maps.
// Returns the number of files written.
//
// An earlier evaluation in the folder is replaced: the charts and the report
// that belong to its manifest.json, the manifest itself, and cells.csv. If its
// manifest is the same, files that are not written again are kept. Other files
// are never removed. If a file cannot be written, nothing changes.
absl::StatusOr<int> WriteEvaluation(
    const std::string& folder, const Manifest& manifest,
    const std::string& manifest_text,
    const std::vector<v1::EvaluationCell>* cells);

// Writes cells.csv only. Replaces an earlier evaluation like WriteEvaluation().
absl::Status WriteCells(const std::string& folder,
                        const std::vector<v1::EvaluationCell>& cells);

}  // namespace locus::client
