#include "client/cli/render/evaluation_files.h"

#include <unistd.h>

#include <filesystem>
#include <optional>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "client/base/status_macros.h"
#include "client/cli/render/evaluation_table.h"
#include "client/io/file.h"
#include "client/plot/heatmap.h"
#include "client/plot/line_chart.h"
#include "client/plot/svg.h"
#include "client/report/charts.h"
#include "client/report/html.h"

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

// A file name made from the name of a metric. Names come from the server, so
// all characters that could leave the folder are replaced.
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

// The first `byte_count` bytes of a regular file; empty if there is none.
// Symbolic links are not followed.
std::string ReadRegularFile(const std::string& path, int64_t byte_count) {
  std::error_code error;
  if (std::filesystem::symlink_status(path, error).type() !=
      std::filesystem::file_type::regular) {
    return "";
  }
  absl::StatusOr<FileReader> reader = FileReader::Open(path);
  if (!reader.ok()) return "";
  return reader->Read(byte_count).value_or("");
}

// Removes a regular file; does nothing if `path` is anything else.
absl::Status RemoveRegularFile(const std::string& path) {
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
    return absl::ErrnoToStatus(
        error.value(), absl::StrCat("cannot create the folder ", folder));
  }
  // The probe has about the size of a report.
  const std::string probe = PathIn(folder, ".locus-evaluate");
  const absl::Status status =
      WriteFile(probe, std::string(size_t{512} << 10, ' '), "");
  unlink(probe.c_str());
  return status;
}

absl::Status RemoveEarlierEvaluation(const std::string& folder,
                                     const std::string& manifest_text) {
  const std::string text =
      ReadRegularFile(PathIn(folder, kManifestFile), kMaxManifestBytes);
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
    // The manifest goes last: it is needed to find the other files if the
    // removal is interrupted.
    names.push_back(kManifestFile);
  }
  const std::string heading = CellsCsv({});
  if (ReadRegularFile(PathIn(folder, kCellsFile),
                      static_cast<int64_t>(heading.size())) == heading) {
    names.insert(names.begin(), kCellsFile);
  }
  for (const std::string& name : names) {
    CLIENT_RETURN_IF_ERROR(RemoveRegularFile(PathIn(folder, name)));
  }
  return absl::OkStatus();
}

absl::Status WriteCells(const std::string& folder,
                        const std::vector<v1::EvaluationCell>& cells) {
  return WriteFile(PathIn(folder, kCellsFile), CellsCsv(cells), "");
}

absl::StatusOr<int> WriteEvaluation(
    const std::string& folder, const Manifest& manifest,
    const std::string& manifest_text,
    const std::vector<v1::EvaluationCell>& cells) {
  CLIENT_ASSIGN_OR_RETURN(const plot::HeatmapGrid maps,
                          AttentionMaps(cells, manifest.train_length));
  std::optional<plot::Scene> attention;
  if (!maps.panels.empty()) attention = plot::DrawHeatmaps(maps);
  CLIENT_RETURN_IF_ERROR(WriteFile(PathIn(folder, kManifestFile), manifest_text,
                                   manifest_text.back() == '\n' ? "" : "\n"));
  int file_count = 1;
  for (const NamedChart& chart : ChartsOf(manifest)) {
    CLIENT_RETURN_IF_ERROR(
        WriteFile(PathIn(folder, ChartFileOf(chart)),
                  plot::WriteSvg(plot::DrawLineChart(chart.chart)), ""));
    ++file_count;
  }
  if (attention.has_value()) {
    CLIENT_RETURN_IF_ERROR(WriteFile(PathIn(folder, kAttentionFile),
                                     plot::WriteSvg(*attention), ""));
    ++file_count;
  }
  CLIENT_RETURN_IF_ERROR(WriteFile(PathIn(folder, kReportFile),
                                   MakeReport(manifest, attention), ""));
  return file_count + 1;
}

}  // namespace locus::client
