// Text tables of the measured properties of schemes.
#pragma once

#include <string>

#include "locus/v1/evaluation.pb.h"

namespace locus::client {

struct PropertyTableOptions {
  // Also describe the worked case behind each verdict.
  bool details = false;
};

// One row per scheme and property, and a summary line.
std::string FormatProperties(const v1::CheckPropertiesResponse& response,
                             const PropertyTableOptions& options);

// The number of verdicts that differ from the declaration of the scheme.
// Properties without a declaration do not count.
int BrokenPromises(const v1::CheckPropertiesResponse& response);

}  // namespace locus::client
