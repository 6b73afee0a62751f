// Forward declaration of CLI::App. CLI11 is one large header, so only the .cc
// files that add flags include it.
#pragma once

namespace CLI {  // NOLINT(readability-identifier-naming): not ours
class App;
}  // namespace CLI
