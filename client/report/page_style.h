// The style sheet of reports, and of the charts within them.
#pragma once

#include <string>

namespace locus::client {

std::string PageStyle();

}  // namespace locus::client
