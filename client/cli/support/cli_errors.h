// Errors as the command line reports them: one line, and an exit code.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace locus::client {

// The user's mistake: a flag, a file or a scheme's text.
absl::Status UsageError(absl::string_view message);

// The same error as the user's mistake; OK stays OK. `context`, such as the
// flag, comes before the message unless it is empty.
absl::Status AsUsage(const absl::Status& status,
                     absl::string_view context = "");

// Which flag sets a field of the request, by the beginning of its path.
using FlagHints = std::vector<std::pair<std::string, std::string>>;

// The server's error with the flag that sets the field it complains of.
absl::Status WithFlagHint(absl::Status status, const FlagHints& hints);

// Without a newline, however many the message had.
std::string ErrorLine(const absl::Status& status);

// 2 for the user's mistakes, 1 for all others.
int ExitCode(const absl::Status& status);

}  // namespace locus::client
