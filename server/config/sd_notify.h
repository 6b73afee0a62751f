// Service notifications to systemd, compatible with sd_notify(3).
#pragma once

#include "absl/strings/string_view.h"

namespace locus::server {

// Sends `state`, such as "READY=1", to the socket named by $NOTIFY_SOCKET.
// Returns true if it was sent or the variable is not set, false on an error.
bool SdNotify(absl::string_view state);

}  // namespace locus::server
