// HTML reports of load tests.
#pragma once

#include <string>

#include "client/load/compare.h"
#include "client/load/report.h"

namespace locus::client {

// Returns a self-contained page about one run, or about a search and its best
// run.
std::string MakeLoadPage(const load::Report& report);

// Two runs and their comparison. Does not own the runs.
struct LoadComparison {
  const load::Result& before;
  const load::Result& after;
  const load::Comparison& comparison;
  // The command line that made the page; may be empty.
  std::string command = "";
};

// Returns a self-contained page with both runs in the same charts.
std::string MakeLoadComparisonPage(const LoadComparison& comparison);

}  // namespace locus::client
