// Whether a run measured the server, or the client that made it.
#pragma once

#include <string>
#include <vector>

#include "client/load/statistics.h"

namespace locus::client::load {

// A sentence for each reason to doubt the figures; empty if there is none.
std::vector<std::string> Doubts(const Result& result);

}  // namespace locus::client::load
