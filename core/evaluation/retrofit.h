// What a retrofit evaluates unless told: RoPE as it was trained, and every
// scaling that needs no training of its own, at several factors.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/encoding/parameters.h"

namespace locus {

struct RetrofitScheme {
  // Such as yarn_x4; the first is rope.
  std::string name;
  // Of RoPE.
  Arguments arguments;
};

// Scalings that look at a length take train_length for it.
std::vector<RetrofitScheme> RetrofitSchemes(int64_t train_length);

}  // namespace locus
