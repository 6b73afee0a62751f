#include "server/base/version.h"

#include "locus_build_info.h"

namespace locus::server {

absl::string_view Version() { return LOCUS_VERSION; }

std::string VersionLine() {
  return "locusd " LOCUS_VERSION " (commit " LOCUS_COMMIT "; " LOCUS_BUILD ")";
}

std::string Commit() { return LOCUS_COMMIT; }

}  // namespace locus::server
