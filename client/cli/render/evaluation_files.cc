#include "client/cli/render/evaluation_files.h"

#include <unistd.h>

#include <filesystem>
#include <optional>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "client/cli/render/evaluation_table.h"
#include "client/io/file.h"
#include "client/plot/heatmap.h"
#include "client/plot/line_chart.h"
#include "client/plot/svg.h"
#include "client/report/charts.h"
#include "client/report/html.h"
#include "client/base/status_macros.h"

namespace locus::client {
namespace {

constexpr char kManifestFile[] = "manifest.json";
constexpr char kReportFile[] = "report.html";
constexpr char kCellsFile[] = "cells.csv";
constexpr char kAttentionFile[] = "attention.svg";

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

std::string ChartFileOf(const NamedChart& chart) {
  return absl::StrCat(FileNameOf(chart.name), ".svg");
}

// The text of a file, or nothing if there is none. A link is not followed: what
// it leads to is not ours.
std::string TextOf(const std::string& path, int64_t byte_count) {
  std::error_code error;
  if (std::filesystem::symlink_status(path, error).type() !=
      std::filesystem::file_type::regular) {
    return "";
  }
  absl::StatusOr<FileReader> reader = FileReader::Open(path);
  if (!reader.ok()) return "";
  return reader->Read(byte_count).value_or("");
}

absl::Status Remove(const std::string& path) {
  std::error_code error;
  const auto type = std::filesystem::symlink_status(path, error).type();
  if (type != std::filesystem::file_type::regular) return absl::OkStatus();
  std::filesystem::remove(path, error);
  if (!error) return absl::OkStatus();
  return absl::ErrnoToStatus(error.value(),
                             absl::StrCat("cannot remove ", path));
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

absl::Status RemoveEarlierEvaluation(const std::string& folder,
                                     const std::string& manifest_text) {
  const std::string text =
      TextOf(PathIn(folder, kManifestFile), kMaxManifestBytes);
  if (!text.empty() && absl::StripAsciiWhitespace(text) ==
                           absl::StripAsciiWhitespace(manifest_text)) {
    return absl::OkStatus();
  }
  std::vector<std::string> names;
  if (const absl::StatusOr<Manifest> earlier = ParseManifest(text);
      earlier.ok()) {
    for (const NamedChart& chart : ChartsOf(*earlier)) {
      names.push_back(ChartFileOf(chart));
    }
    if (earlier->is_pattern()) names.push_back(kAttentionFile);
    names.push_back(kReportFile);
    // The last: as long as it is there the others are known.
    names.push_back(kManifestFile);
  }
  const std::string heading = CellsCsv({});
  if (TextOf(PathIn(folder, kCellsFile),
             static_cast<int64_t>(heading.size())) == heading) {
    names.insert(names.begin(), kCellsFile);
  }
  for (const std::string& name : names) {
    CLIENT_RETURN_IF_ERROR(Remove(PathIn(folder, name)));
  }
  return absl::OkStatus();
}

absl::Status WriteCells(const std::string& folder,
                        const std::vector<v1::EvaluationCell>& cells) {
  return WriteFile(PathIn(folder, kCellsFile), CellsCsv(cells), "");
}

absl::Status WriteEvaluation(const std::string& folder,
                             const Manifest& manifest,
                             const std::string& manifest_text,
                             const std::vector<v1::EvaluationCell>& cells) {
  CLIENT_ASSIGN_OR_RETURN(const plot::HeatmapGrid maps,
                          AttentionMaps(cells, manifest.train_length));
  std::optional<plot::Scene> attention;
  if (!maps.panels.empty()) attention = plot::DrawHeatmaps(maps);
  CLIENT_RETURN_IF_ERROR(WriteFile(PathIn(folder, kManifestFile), manifest_text,
                                   manifest_text.back() == '\n' ? "" : "\n"));
  for (const NamedChart& chart : ChartsOf(manifest)) {
    CLIENT_RETURN_IF_ERROR(
        WriteFile(PathIn(folder, ChartFileOf(chart)),
                  plot::WriteSvg(plot::DrawLineChart(chart.chart)), ""));
  }
  if (attention.has_value()) {
    CLIENT_RETURN_IF_ERROR(WriteFile(PathIn(folder, kAttentionFile),
                                     plot::WriteSvg(*attention), ""));
  }
  return WriteFile(PathIn(folder, kReportFile), MakeReport(manifest, attention),
                   "");
}

}  // namespace locus::client
