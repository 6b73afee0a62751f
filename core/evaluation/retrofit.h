// Default schemes of the retrofit task.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/encoding/parameters.h"

namespace locus {

struct RetrofitScheme {
  // Such as yarn×4.
  std::string name;
  // Arguments of the scheme `rope`.
  Arguments arguments;
};

// Returns unscaled RoPE, followed by each RoPE scaling at the factors 2, 4 and
// 8. Scalings with a parameter for the original length get train_length. All
// schemes use the same pairing of channels.
std::vector<RetrofitScheme> RetrofitSchemes(int64_t train_length,
                                            int64_t head_dim);

}  // namespace locus
