// Names of compared schemes by what differs, such as `rope base=500000` and
// `rope yarn×4`.
#pragma once

#include <string>
#include <vector>

#include "locus/v1/encoding.pb.h"
#include "locus/v1/scheme.pb.h"

namespace locus::client {

// A scheme to name.
struct NamedSource {
  const v1::Scheme* scheme = nullptr;
  // The configuration that the scheme comes from; empty if there is none.
  std::string file_name = "";
};

// Unique names in the order of the sources: the label of a scheme, the name of
// its configuration without .json, or its kind. The names of schemes of one
// kind contain the parameters in which they differ; `described` supplies the
// defaults of parameters that are not set. Equal names are numbered.
std::vector<std::string> ComparisonNames(
    const std::vector<NamedSource>& sources,
    const v1::ListSchemesResponse& described);

}  // namespace locus::client
