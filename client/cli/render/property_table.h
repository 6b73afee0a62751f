// The measured properties of schemes as a matrix and as text.
#pragma once

#include <string>

#include "client/cli/support/terminal.h"
#include "locus/v1/evaluation.pb.h"

namespace locus::client {

struct PropertyTableOptions {
  // Also print the measured values and the worked case behind each verdict.
  bool details = false;
  // Width of the terminal in columns.
  int width = OutputColumns();
};

// A matrix with a row per scheme and a column per property, a legend, and a
// summary that lists broken promises. The matrix takes any set of properties:
// the words of a property stand below each other in the head of its column, cut
// as the width requires, and a matrix that is still too wide is printed in
// blocks of columns.
std::string FormatProperties(const v1::CheckPropertiesResponse& response,
                             const PropertyTableOptions& options);

// The number of verdicts that differ from the declaration of the scheme.
// Properties without a declaration do not count.
int BrokenPromises(const v1::CheckPropertiesResponse& response);

}  // namespace locus::client
