// Loads and comparisons of them, for people to read.
#pragma once

#include <string>

#include "client/load/compare.h"
#include "client/load/report.h"

namespace locus::client {

std::string FormatLoad(const load::Report& report);

std::string FormatComparison(const load::Comparison& comparison);

}  // namespace locus::client
