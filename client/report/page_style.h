// The style sheet of reports, and of the charts within them.
#pragma once

#include <string>

namespace locus::client {

// Returns the CSS of the page.
std::string PageStyle();

}  // namespace locus::client
