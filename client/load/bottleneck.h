// Detection of runs that measured the client instead of the server.
#pragma once

#include <string>
#include <vector>

#include "client/load/statistics.h"

namespace locus::client::load {

// Returns one sentence for each reason to doubt the figures of a run, such as a
// saturated client thread. Empty if there is none.
std::vector<std::string> MeasurementWarnings(const Result& result);

}  // namespace locus::client::load
