// HTML report of an evaluation.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "client/plot/scene.h"
#include "client/report/manifest.h"

namespace locus::client {

// The contents of a report besides the manifest. All members are optional.
struct ReportInput {
  // The attention maps of pattern mode.
  std::optional<plot::Scene> attention_maps = std::nullopt;
  // The results of single seeds. Not owned.
  const std::vector<v1::EvaluationCell>* cells = nullptr;
  // The command line that made the report, to copy.
  std::string command = "";
  // Names of files in the same folder, for links.
  std::vector<std::string> files = {};
};

// Returns a self-contained HTML page without external resources. Its theme
// follows the viewer's system. All numbers come from the manifest and the
// cells.
std::string MakeReport(const Manifest& manifest, const ReportInput& input = {});

}  // namespace locus::client
