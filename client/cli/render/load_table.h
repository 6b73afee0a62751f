// Text tables of load tests and of comparisons between them.
#pragma once

#include <string>

#include "client/load/compare.h"
#include "client/load/report.h"

namespace locus::client {

// The report of a load test, with the trials of the rate search if there was
// one.
std::string FormatLoad(const load::Report& report);

// The figures of two runs side by side, with a verdict for each: the headline
// figures, or all of them.
std::string FormatComparison(const load::Comparison& comparison, bool all);

}  // namespace locus::client
