// Suggestions for misspelled commands, flags and names. The functions are in
// namespace locus, because the server suggests names of flags, too.
#pragma once

#include "core/base/suggest.h"  // IWYU pragma: export
