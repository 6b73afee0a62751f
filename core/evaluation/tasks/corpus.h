// The built-in text: little stories, made from a grammar.
//
// Spelling and grammar reward a few bytes of context, the people and things of
// a story some hundred: the names are invented for each story, what is carried
// is asked for again, and a refrain returns word for word. No two stories are
// alike, so that a small model cannot learn them by heart.
#pragma once

#include "absl/strings/string_view.h"

namespace locus {

// About 320 KiB of plain ASCII, always the same. Made at the first call, in a
// few milliseconds.
absl::string_view BuiltInCorpus();

}  // namespace locus
