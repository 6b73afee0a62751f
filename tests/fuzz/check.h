// What a fuzz target does when something that must hold does not.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <string>

namespace locus::fuzz {

// Fuzzers look for crashes, so that a broken promise has to be one.
inline void Check(bool holds, const char* promise,
                  const std::string& detail = "") {
  if (holds) return;
  std::fprintf(stderr, "broken promise: %s\n%s\n", promise, detail.c_str());
  std::abort();
}

}  // namespace locus::fuzz
