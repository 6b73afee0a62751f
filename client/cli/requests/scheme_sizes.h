// Facts about a scheme that decide how a command calls the server: where it
// acts, the sizes it needs, and its parameter for both directions.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>

#include "client/hf_config/hf_config.h"
#include "google/protobuf/descriptor.h"
#include "locus/v1/scheme.pb.h"

namespace locus::client {

// The number of heads of a score bias if neither a flag nor a configuration
// gives one. kDefaultDim in scheme_flags.h is the default width.
inline constexpr int64_t kDefaultBiasHeads = 8;

// Whether the scheme adds a bias to the scores, or a code to the embeddings.
bool ActsOnScores(const v1::Scheme& scheme);
bool ActsOnEmbeddings(const v1::Scheme& scheme);

// The sizes of a call; 0 for a size that the call does not need.
struct CallSizes {
  int64_t dim = 0;
  int64_t head_count = 0;
  // "(dim 128 from llama31.json)" for sizes that come from the configuration;
  // otherwise empty.
  std::string note;
};

// The sizes for an encoding of the scheme. In this order: the flag; the sizes
// of the scheme's own parameters, for which 0 is returned; the configuration;
// the default.
CallSizes SizesForEncoding(const HfModel& model,
                           std::optional<int64_t> dim_flag,
                           std::optional<int64_t> head_count_flag);

// The width and the number of heads of a layer with heads as in the
// configuration. Both are 0 if the configuration does not give them. The flag
// replaces the number of heads, so that each head keeps its width.
CallSizes SizesForLayer(const HfModel& model,
                        std::optional<int64_t> head_count_flag);

// The parameter that makes a bias act on keys on both sides of the query, such
// as `symmetric`; null if the scheme has none.
const google::protobuf::FieldDescriptor* TwoSidedParameter(
    const v1::Scheme& scheme);

// Sets the parameter of TwoSidedParameter(), if there is one and it is not in
// `given`. Attention that is not causal needs it.
void MakeTwoSided(
    const std::set<const google::protobuf::FieldDescriptor*>& given,
    v1::Scheme* scheme);

}  // namespace locus::client
