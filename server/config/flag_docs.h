// Manual page and shell completions of locusd, generated from its flags.
#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace locus::server {

// Name and help text of a flag.
struct FlagHelp {
  std::string name;  // without dashes
  std::string help;
};

// Returns the manual page locusd(8) in man format. `notes` are appended
// verbatim, as a section of their own.
std::string ManualPage(const std::vector<FlagHelp>& flags,
                       absl::string_view notes);

// Returns a script that completes the flags in `shell` (bash, zsh or fish), or
// an empty string for any other shell.
std::string Completion(absl::string_view shell,
                       const std::vector<FlagHelp>& flags);

}  // namespace locus::server
