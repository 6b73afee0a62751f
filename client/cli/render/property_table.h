// Properties of schemes, measured, as tables for people to read.
#pragma once

#include <string>

#include "locus/v1/evaluation.pb.h"

namespace locus::client {

struct PropertyTableOptions {
  // Also say, in words, what was done for each verdict.
  bool details = false;
};

std::string FormatProperties(const v1::CheckPropertiesResponse& response,
                             const PropertyTableOptions& options);

// How many results are not what was promised. Where nothing was promised,
// nothing is broken.
int BrokenPromises(const v1::CheckPropertiesResponse& response);

}  // namespace locus::client
