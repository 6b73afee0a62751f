// The charts of load tests.
#pragma once

#include <string>
#include <vector>

#include "client/load/report.h"
#include "client/report/chart_figure.h"

namespace locus::client {

// A run and its name in legends; the name is empty for a single run. Does not
// own the result.
struct NamedRun {
  std::string name;
  const load::Result* result = nullptr;
};

// Return charts of one run, or of several runs in the same axes. A figure
// without data has no curves.

// Calls per second over time.
ChartFigure RateFigure(const std::vector<NamedRun>& runs);
// Latency percentiles of each second.
ChartFigure LatencyFigure(const std::vector<NamedRun>& runs);
// Latency by percentile, with as much room for each further nine, as in the
// plots of HdrHistogram.
ChartFigure PercentileFigure(const std::vector<NamedRun>& runs);
// Distribution of the latency.
ChartFigure HistogramFigure(const std::vector<NamedRun>& runs);
// The trials of a search against the first objective on a latency; without
// curves if there is no such objective.
ChartFigure LadderFigure(const load::Search& search);

// Returns bars of the mean service time of each run, divided into queue,
// compute and the rest, as HTML. Empty if the server reports no times.
std::string SplitBars(const std::vector<NamedRun>& runs);

}  // namespace locus::client
