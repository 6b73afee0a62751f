// What a pattern says of the scheme itself, without any content.
#pragma once

#include <map>
#include <string>

#include "core/parallel/stopper.h"
#include "core/encoding/scheme.h"
#include "core/evaluation/pattern/pattern.h"

namespace locus {

// Those that apply to what the scheme compiled to, by name; see
// core/evaluation/pattern/pattern.h. May be no finite numbers.
std::map<std::string, double> MeasureScheme(const PatternCall& call,
                                            const CompiledScheme& compiled,
                                            Stopper& stopper);

}  // namespace locus
