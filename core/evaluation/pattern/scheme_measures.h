// Metrics of pattern mode that depend on the scheme alone, not on tokens.
#pragma once

#include <map>
#include <string>

#include "core/encoding/scheme.h"
#include "core/evaluation/pattern/pattern.h"
#include "core/parallel/cancellation.h"

namespace locus {

// Returns the metrics that apply to a compiled scheme, by name; see pattern.h.
// Values may be infinite or NaN.
std::map<std::string, double> MeasureScheme(const PatternCase& pattern_case,
                                            const CompiledScheme& compiled,
                                            CancellationState& cancellation);

}  // namespace locus
