// Errors of the command-line parser, in words.
#pragma once

#include <string>

#include "absl/strings/string_view.h"
#include "client/cli/support/cli11_fwd.h"

namespace locus::client {

// Makes every option of `app` and its commands reject values that are no
// numbers or out of range: integers for options of type N, numbers for type X.
// CLI11 itself clamps integers that are too large and reads 010 as octal. Call
// it after all options were added.
void CheckNumberFlags(CLI::App& app);

// The text of a parser error: "--out: needs a value (FILE)" instead of "--out:
// 1 required FILE missing".
std::string ParserErrorText(absl::string_view what);

}  // namespace locus::client
