// What packages install beside locusd, made of its own flags.
#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace locus::server {

struct FlagText {
  std::string name;  // without dashes
  std::string help;
};

// The page of section 8, in the language of man. `notes` come at the end, as
// they are.
std::string ManualPage(const std::vector<FlagText>& flags,
                       absl::string_view notes);

// A script that completes the flags in bash, zsh or fish; empty for any other
// shell.
std::string Completion(absl::string_view shell,
                       const std::vector<FlagText>& flags);

}  // namespace locus::server
