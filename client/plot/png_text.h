// Text chunks of PNG files.
#pragma once

#include <string>

#include "absl/strings/string_view.h"

namespace locus::client::plot {

// Adds a text chunk before the image data of a PNG file: tEXt for ASCII, iTXt
// for other UTF-8. Line breaks and other control characters become spaces,
// because some viewers show a line only. `keyword` is ASCII, up to 79
// characters. Does nothing if `png` is not a PNG file.
void AddPngText(absl::string_view keyword, absl::string_view text,
                std::string& png);

}  // namespace locus::client::plot
