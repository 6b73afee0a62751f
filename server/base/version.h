// Which locusd this is.
#pragma once

#include <string>

namespace locus::server {

// "locusd 0.1.0 (commit 0123456789ab; release, GNU 12.2.0, x86_64)".
std::string VersionLine();
// The commit alone.
std::string Commit();

}  // namespace locus::server
