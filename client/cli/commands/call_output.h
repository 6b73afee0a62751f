// Lines that `locus encode` and `locus attend` add to their output.
#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "locus/v1/scheme.pb.h"

namespace locus::client {

// Puts the name of the scheme and the note about sizes, such as "(dim 128 from
// llama31.json)", above `text`. Returns `text` unchanged if the note is empty.
std::string WithSizes(const v1::Scheme& scheme, absl::string_view note,
                      const std::string& text);

// Says on standard error which files were written. Empty paths and "-" are left
// out.
void ReportWritten(const std::vector<std::string>& paths);

}  // namespace locus::client
