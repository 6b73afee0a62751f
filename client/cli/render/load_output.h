// Formats and files of the report of `locus load`.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "client/load/report.h"

namespace locus::client {

// Returns a usage error unless `format` is text, json, csv, html or prometheus.
absl::Status CheckLoadFormat(const std::string& format);

// The report in `format`, which must have passed CheckLoadFormat().
std::string FormatLoadAs(const std::string& format, const load::Report& report);

// Returns a usage error if a path does not end in .html, .json, .csv, .prom or
// .txt, and an error if a file cannot be written.
absl::Status CheckLoadFiles(const std::vector<std::string>& paths);
// Writes the report to each path in the format of its extension. If a file
// cannot be written, none is replaced. The paths must have passed
// CheckLoadFiles().
absl::Status WriteLoadFiles(const std::vector<std::string>& paths,
                            const load::Report& report);

}  // namespace locus::client
