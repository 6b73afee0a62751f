// How much room text takes, and text within markup.
#pragma once

#include <string>

#include "absl/strings/string_view.h"

namespace locus::client::plot {

// An estimate for a sans-serif font of that size, rather too wide than too
// narrow, since nobody knows which font a reader's machine has.
double TextWidth(absl::string_view text, double size);

// The longest beginning that fits, with an ellipsis if something was cut.
std::string Ellipsized(absl::string_view text, double size, double width);

// For XML and HTML, as text or within quotes. Characters that XML cannot hold,
// and bytes that are not UTF-8, become U+FFFD.
std::string Escape(absl::string_view text);

}  // namespace locus::client::plot
