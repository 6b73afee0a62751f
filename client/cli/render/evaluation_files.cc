#include "client/cli/render/evaluation_files.h"

#include <filesystem>
#include <optional>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "client/base/printable.h"
#include "client/base/status_macros.h"
#include "client/cli/render/evaluation_table.h"
#include "client/cli/support/command_line.h"
#include "client/cli/support/interrupt.h"
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

// The file names of the evaluation with that manifest. Empty if the text is no
// manifest.
std::vector<std::string> FilesOfManifest(const std::string& text) {
  std::vector<std::string> names;
  const absl::StatusOr<Manifest> manifest = ParseManifest(text);
  if (!manifest.ok()) return names;
  for (const NamedChart& chart : ChartsOf(*manifest)) {
    names.push_back(ChartFileOf(chart));
  }
  if (manifest->is_pattern()) names.push_back(kAttentionFile);
  names.push_back(kReportFile);
  // The manifest is removed last: it is needed to find the other files if the
  // removal is interrupted.
  names.push_back(kManifestFile);
  return names;
}

// The files of the evaluation in the folder, or none if it is the one with the
// manifest `new_manifest`.
std::vector<std::string> FilesOfEarlier(const std::string& folder,
                                        const std::string& new_manifest) {
  const std::string text =
      ReadRegularFile(PathIn(folder, kManifestFile), kMaxManifestBytes);
  if (!text.empty() && absl::StripAsciiWhitespace(text) ==
                           absl::StripAsciiWhitespace(new_manifest)) {
    return {};
  }
  std::vector<std::string> names = FilesOfManifest(text);
  const std::string heading = CellsCsv({});
  if (ReadRegularFile(PathIn(folder, kCellsFile),
                      static_cast<int64_t>(heading.size())) == heading) {
    names.insert(names.begin(), kCellsFile);
  }
  return names;
}

struct TextFile {
  std::string name;
  std::string text;
};

// Replaces the earlier evaluation in the folder. Nothing changes if one of the
// files cannot be written.
absl::Status ReplaceFiles(const std::string& folder,
                          const std::vector<TextFile>& files) {
  const auto find = [&files](absl::string_view name) {
    return absl::c_find_if(
        files, [name](const TextFile& file) { return file.name == name; });
  };
  const auto manifest = find(kManifestFile);
  const std::vector<std::string> earlier =
      FilesOfEarlier(folder, manifest == files.end() ? "" : manifest->text);
  FileReplacement replacement;
  for (const TextFile& file : files) {
    CLIENT_RETURN_IF_ERROR(
        replacement.Add(PathIn(folder, file.name), file.text));
  }
  // An interrupt must not leave files of two evaluations behind.
  const SignalScope hold([] {});
  CLIENT_RETURN_IF_ERROR(replacement.Commit());
  for (const std::string& name : earlier) {
    if (find(name) != files.end()) continue;
    CLIENT_RETURN_IF_ERROR(RemoveRegularFile(PathIn(folder, name)));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CreateFolder(const std::string& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (!error) return absl::OkStatus();
  return absl::ErrnoToStatus(error.value(),
                             absl::StrCat("cannot create the folder ", folder));
}

absl::Status PrepareFolder(const std::string& folder) {
  CLIENT_RETURN_IF_ERROR(CreateFolder(folder));
  // The probe has about the size of a report.
  FileReplacement probe;
  return probe.Add(PathIn(folder, ".locus-evaluate"),
                   std::string(size_t{512} << 10, ' '));
}

std::string ExistingReport(const std::string& folder) {
  std::error_code error;
  std::string path = PathIn(folder, kReportFile);
  return std::filesystem::exists(path, error) ? path : "";
}

std::string UnfinishedFolder(const std::string& folder) {
  return PathIn(folder, "unfinished");
}

absl::StatusOr<int> WriteEvaluation(
    const std::string& folder, const Manifest& manifest,
    const std::string& manifest_text,
    const std::vector<v1::EvaluationCell>* cells) {
  std::vector<TextFile> files;
  const auto add = [&files](const std::string& name, absl::string_view text) {
    files.push_back({name, Printable(text)});
  };
  std::optional<plot::Scene> attention;
  if (cells != nullptr) {
    add(kCellsFile, CellsCsv(*cells));
    CLIENT_ASSIGN_OR_RETURN(const plot::HeatmapGrid maps,
                            AttentionMaps(*cells, manifest.train_length));
    if (!maps.panels.empty()) attention = plot::DrawHeatmaps(maps);
  }
  for (const NamedChart& chart : ChartsOf(manifest)) {
    add(ChartFileOf(chart), plot::WriteSvg(plot::DrawLineChart(chart.chart)));
  }
  if (attention.has_value()) add(kAttentionFile, plot::WriteSvg(*attention));
  ReportInput input{.attention_maps = attention,
                    .cells = cells,
                    .command = RecordedCommandLine()};
  for (const TextFile& file : files) input.files.push_back(file.name);
  add(kReportFile, MakeReport(manifest, input));
  add(kManifestFile,
      absl::StrCat(absl::StripTrailingAsciiWhitespace(manifest_text), "\n"));
  CLIENT_RETURN_IF_ERROR(ReplaceFiles(folder, files));
  return static_cast<int>(files.size());
}

absl::Status WriteCells(const std::string& folder,
                        const std::vector<v1::EvaluationCell>& cells) {
  return ReplaceFiles(folder, {{kCellsFile, Printable(CellsCsv(cells))}});
}

}  // namespace locus::client
