// Text metrics and escaping.
#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace locus::client::plot {

// Estimates the width of text in a sans-serif font of that size. The estimate
// is an upper bound for common fonts, since the font of the viewer is unknown.
double TextWidth(absl::string_view text, double size);

// Returns the text, cut and with an ellipsis if it does not fit the width.
std::string Ellipsized(absl::string_view text, double size, double width);

// Breaks text into lines that fit the width, at spaces. A word that does not
// fit is cut.
std::vector<std::string> WrapWords(absl::string_view text, double size,
                                   double width);

// Escapes text for XML and HTML, as content or as an attribute value.
// Characters that XML does not allow, and invalid UTF-8, become U+FFFD.
std::string Escape(absl::string_view text);

}  // namespace locus::client::plot
