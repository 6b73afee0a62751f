// Where the report of a load goes, and in which form.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "client/load/report.h"

namespace locus::client {

// text, json, csv, prometheus. A usage error for any other.
absl::Status CheckLoadFormat(const std::string& format);

std::string FormatLoadAs(const std::string& format, const load::Report& report);

// Files have the form that their names end in: .json, .csv, .prom or .txt. A
// usage error for any other, and an error for what cannot be written.
absl::Status CheckLoadFiles(const std::vector<std::string>& paths);
absl::Status WriteLoadFiles(const std::vector<std::string>& paths,
                            const load::Report& report);

}  // namespace locus::client
