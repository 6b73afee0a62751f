#include "client/cli/evaluation_files.h"

#include <unistd.h>

#include <filesystem>
#include <optional>

#include "absl/strings/str_cat.h"
#include "client/cli/evaluation_table.h"
#include "client/file.h"
#include "client/plot/heatmap.h"
#include "client/plot/line_chart.h"
#include "client/plot/svg.h"
#include "client/report/charts.h"
#include "client/report/html.h"
#include "client/status_macros.h"

namespace locus::client {
namespace {

std::string PathIn(const std::string& folder, absl::string_view name) {
  return (std::filesystem::path(folder) / std::string(name.data(), name.size()))
      .string();
}

// Names of metrics are the server's; a file of one stays in its folder.
std::string FileNameOf(std::string name) {
  for (char& c : name) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                       (c >= '0' && c <= '9') || c == '_' || c == '-';
    if (!plain) c = '_';
  }
  return name;
}

}  // namespace

absl::Status PrepareFolder(const std::string& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) {
    return absl::ErrnoToStatus(error.value(),
                               absl::StrCat("cannot make the folder ", folder));
  }
  // About what a report takes.
  const std::string probe = PathIn(folder, ".locus-evaluate");
  const absl::Status status =
      WriteFile(probe, std::string(size_t{512} << 10, ' '), "");
  unlink(probe.c_str());
  return status;
}

absl::Status WriteCells(const std::string& folder,
                        const std::vector<v1::EvaluationCell>& cells) {
  return WriteFile(PathIn(folder, "cells.csv"), CellsCsv(cells), "");
}

absl::Status WriteEvaluation(const std::string& folder,
                             const Manifest& manifest,
                             const std::string& manifest_text,
                             const std::vector<v1::EvaluationCell>& cells) {
  CLIENT_ASSIGN_OR_RETURN(const plot::HeatmapGrid maps,
                          AttentionMaps(cells, manifest.train_length));
  std::optional<plot::Scene> attention;
  if (!maps.panels.empty()) attention = plot::DrawHeatmaps(maps);
  CLIENT_RETURN_IF_ERROR(WriteFile(PathIn(folder, "manifest.json"),
                                   manifest_text,
                                   manifest_text.back() == '\n' ? "" : "\n"));
  for (const NamedChart& chart : ChartsOf(manifest)) {
    CLIENT_RETURN_IF_ERROR(
        WriteFile(PathIn(folder, absl::StrCat(FileNameOf(chart.name), ".svg")),
                  plot::WriteSvg(plot::DrawLineChart(chart.chart)), ""));
  }
  if (attention.has_value()) {
    CLIENT_RETURN_IF_ERROR(WriteFile(PathIn(folder, "attention.svg"),
                                     plot::WriteSvg(*attention), ""));
  }
  return WriteFile(PathIn(folder, "report.html"),
                   MakeReport(manifest, attention), "");
}

}  // namespace locus::client
