// Descriptions of a scheme for titles and subtitles of pictures.
#pragma once

#include <cstdint>
#include <string>

#include "locus/v1/encoding.pb.h"
#include "locus/v1/scheme.pb.h"

namespace locus::client {

// Returns the scheme with the parameters that are set, as in "rope, base
// 500000, yarn ×4 of 2048", or its label if it has one. `description` provides
// the default of the original length of a scaling; it may be null.
std::string SchemeTitle(const v1::Scheme& scheme,
                        const v1::SchemeDescription* description = nullptr);

// Sizes that are not part of a scheme; 0 is left out.
struct SchemeSizes {
  int64_t dim = 0;
  int64_t head_count = 0;
};

// Returns the sizes and the defaults of the parameters that SchemeTitle() does
// not mention, as in "dim 64 · base 10000": a saved picture then shows what it
// was made with. `description` may be null.
std::string SchemeDetails(const v1::Scheme& scheme,
                          const v1::SchemeDescription* description,
                          const SchemeSizes& sizes);

}  // namespace locus::client
