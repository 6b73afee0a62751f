// Assertions for fuzz targets.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <string>

namespace locus::fuzz {

// Aborts if `holds` is false, because a fuzzer detects only crashes. Prints the
// invariant that was violated, and the details.
inline void Check(bool holds, const char* invariant,
                  const std::string& details = "") {
  if (holds) return;
  std::fprintf(stderr, "violated: %s\n%s\n", invariant, details.c_str());
  std::abort();
}

}  // namespace locus::fuzz
