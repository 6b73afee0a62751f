// "Did you mean ...?"
#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace locus::client {

// The number of single-character insertions, deletions, replacements and swaps
// of neighbours that turn one word into the other.
int EditDistance(absl::string_view a, absl::string_view b);

// The nearest of `names` if it is near enough to be meant; otherwise empty.
std::string Nearest(absl::string_view word,
                    const std::vector<std::string>& names);

// "; did you mean rope?", or nothing.
std::string DidYouMean(absl::string_view word,
                       const std::vector<std::string>& names);

}  // namespace locus::client
