// A question that long work asks now and then: does anyone still want this?
#pragma once

#include <functional>

#include "absl/status/status.h"

namespace locus {

// Returns OK to go on, or the status to stop with (CANCELLED or
// DEADLINE_EXCEEDED). Called from several threads at once, at most every few
// hundred microseconds. An empty function never stops.
using StopCheck = std::function<absl::Status()>;

}  // namespace locus
