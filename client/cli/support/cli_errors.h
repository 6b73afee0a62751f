// Errors as the command line reports them: one line on standard error and an
// exit code. Mistakes of the user (a flag, a file, the text of a scheme) are
// usage errors and exit with 2; all other errors exit with 1.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace locus::client {

// A usage error with the given message.
absl::Status UsageError(absl::string_view message);

// Turns `status` into a usage error; returns OK unchanged. `context`, usually
// the name of the flag, is put in front of the message unless it is empty.
absl::Status AsUsage(const absl::Status& status,
                     absl::string_view context = "");

// Attaches lines that show where the error is. The caller escapes untrusted
// parts. AsUsage() keeps them.
absl::Status WithExcerpt(absl::Status status, absl::string_view excerpt);

// Pairs of a field path of the request and the flag that sets this field and
// all fields below it. The first match wins.
using FlagHints = std::vector<std::pair<std::string, std::string>>;

// Rewrites an error of the server in terms of flags: "dim: is 7; ..." becomes
// "--dim: is 7; ...", and paths of other fields in the message become their
// flags. INVALID_ARGUMENT becomes a usage error, because the flag is wrong.
// Returns the status unchanged if no field violation matches `hints`.
absl::Status WithFlagHint(absl::Status status, const FlagHints& hints);

// The text of an error without the leading "locus: ". Newlines in the message
// become spaces.
std::string ErrorLine(const absl::Status& status);

// The lines attached with WithExcerpt(), each with its newline, to be printed
// after ErrorLine(); empty if there are none.
std::string ErrorExcerpt(const absl::Status& status);

// The exit code for `status`: 0 if OK, 2 for usage errors, 1 for all others.
int ExitCode(const absl::Status& status);

}  // namespace locus::client
