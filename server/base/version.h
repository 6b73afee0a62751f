// Version, commit and build configuration of this program.
#pragma once

#include <string>

#include "absl/strings/string_view.h"

namespace locus::server {

// Returns the version only, such as "0.1.0".
absl::string_view Version();
// Returns the abbreviated hash of the commit only.
std::string Commit();
// Returns all of it, such as
// "locusd 0.1.0 (commit 0123456789ab; release, GNU 12.2.0, x86_64)".
std::string VersionLine();

}  // namespace locus::server
