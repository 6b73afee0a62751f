// The tables of the report of an evaluation, as HTML.
#pragma once

#include <string>

#include "client/report/manifest.h"

namespace locus::client {

// Returns a table of the deciding metric, with a row for each scheme and a
// column for each length. The best value of each length is bold, unless it is
// not better than chance.
std::string OverviewTable(const Manifest& manifest);
// Return a heading and a table; empty if the manifest does not have the data.
std::string GatesTable(const Manifest& manifest);
std::string EffectiveLengthTable(const Manifest& manifest);
// Returns the folded tables: spread over seeds, all results and differences.
std::string FoldedTables(const Manifest& manifest);

}  // namespace locus::client
