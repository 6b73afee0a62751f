// CLI11 is large; headers need no more of it than this.
#pragma once

namespace CLI {  // NOLINT(readability-identifier-naming): not ours
class App;
}  // namespace CLI
