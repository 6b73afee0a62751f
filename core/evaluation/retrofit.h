// What a retrofit evaluates unless told: RoPE as it was trained, and every
// scaling at several factors.
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

// Scalings that look at a length take train_length for it. All pair channels as
// the first does.
std::vector<RetrofitScheme> RetrofitSchemes(int64_t train_length,
                                            int64_t head_dim);

}  // namespace locus
