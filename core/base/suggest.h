// Suggestions for misspelled commands, flags and names, for the command lines
// of the client and the server.
#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace locus {

// The optimal string alignment distance: the number of insertions, deletions
// and replacements of single characters and of swaps of adjacent characters
// that turn one word into the other.
int EditDistance(absl::string_view a, absl::string_view b);

// The element of `names` nearest to `word`. Empty if the distance exceeds a
// third of the length of `word` (at least 1).
std::string Nearest(absl::string_view word,
                    const std::vector<std::string>& names);

// "; did you mean rope?", or empty if no name is near.
std::string DidYouMean(absl::string_view word,
                       const std::vector<std::string>& names);

}  // namespace locus
