#include "client/cli/render/load_output.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "client/base/printable.h"
#include "client/base/status_macros.h"
#include "client/cli/render/load_table.h"
#include "client/cli/support/cli_errors.h"
#include "client/io/file.h"
#include "client/report/load_page.h"

namespace locus::client {
namespace {

struct LoadFormat {
  const char* name;
  const char* extension;
  std::string (*format)(const load::Report&);
};

constexpr LoadFormat kLoadFormats[] = {
    {"text", ".txt", FormatLoad},
    {"json", ".json", load::JsonReport},
    {"csv", ".csv", load::CsvReport},
    {"html", ".html", MakeLoadPage},
    {"prometheus", ".prom", load::PrometheusReport}};

const LoadFormat* ByName(const std::string& name) {
  for (const LoadFormat& format : kLoadFormats) {
    if (name == format.name) return &format;
  }
  return nullptr;
}

const LoadFormat* ByPath(const std::string& path) {
  for (const LoadFormat& format : kLoadFormats) {
    if (absl::EndsWith(path, format.extension)) return &format;
  }
  return nullptr;
}

}  // namespace

absl::Status CheckLoadFormat(const std::string& format) {
  if (ByName(format) != nullptr) return absl::OkStatus();
  return UsageError(
      absl::StrCat("--format: is ", format,
                   "; must be text, json, csv, html or prometheus"));
}

std::string FormatLoadAs(const std::string& format,
                         const load::Report& report) {
  return ByName(format)->format(report);
}

absl::Status CheckLoadFiles(const std::vector<std::string>& paths) {
  for (const std::string& path : paths) {
    if (ByPath(path) == nullptr) {
      return UsageError(absl::StrCat(
          "--out: ", path, " must end in .html, .json, .csv, .prom or .txt"));
    }
    CLIENT_RETURN_IF_ERROR(CheckWritable(path));
  }
  return absl::OkStatus();
}

absl::Status WriteLoadFiles(const std::vector<std::string>& paths,
                            const load::Report& report) {
  FileReplacement files;
  for (const std::string& path : paths) {
    CLIENT_RETURN_IF_ERROR(
        files.Add(path, Printable(ByPath(path)->format(report))));
  }
  return files.Commit();
}

}  // namespace locus::client
