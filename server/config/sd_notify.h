// Tells systemd how the service is doing, as sd_notify(3) would.
#pragma once

#include "absl/strings/string_view.h"

namespace locus::server {

// Sends `state`, such as READY=1, to the socket that $NOTIFY_SOCKET names. Does
// nothing where there is none; false if it could not be sent.
bool Notify(absl::string_view state);

}  // namespace locus::server
