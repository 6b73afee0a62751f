// The manifest of a small evaluation, for tests of reports.
#pragma once

#include <fstream>
#include <sstream>
#include <string>

namespace locus::client {

// Returns the text of tests/client/report/manifest.json.
inline std::string ManifestText() {
  std::ostringstream text;
  text << std::ifstream(LOCUS_SOURCE_DIR "/tests/client/report/manifest.json")
              .rdbuf();
  return text.str();
}

}  // namespace locus::client
