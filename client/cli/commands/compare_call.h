// Calls of `locus compare`.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "client/cli/render/comparison.h"
#include "client/hf_config/hf_config.h"
#include "locus/client/client.h"

namespace locus::client {

struct CompareRequest {
  std::vector<HfModel> models;
  // Sizes and lengths; 0 takes them from the models, or the defaults.
  int64_t dim = 0;
  int64_t head_count = 0;
  int64_t trained_length = 0;
  double target_length = 0;
  // Number of distances for which biases are compared.
  int64_t length = 256;
  // The sentence and the layer to compare attention on.
  std::vector<std::string> words;
  bool causal = false;
  uint64_t seed = 0;
};

// Requests the numbers of all schemes and their attention. Schemes without a
// trained length of their own take that of the first scheme that has one, and
// all schemes are judged at the longest target length. Attention is causal if a
// scheme supports nothing else.
absl::StatusOr<Comparison> CompareSchemes(Client& client,
                                          const CompareRequest& request);

}  // namespace locus::client
