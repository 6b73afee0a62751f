#include "server/config/auth_exemptions.h"

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "server/base/printable.h"

namespace locus::server {

absl::StatusOr<AuthExemptions> ParseAuthExemptions(absl::string_view text) {
  AuthExemptions exemptions;
  for (const absl::string_view part :
       absl::StrSplit(text, ',', absl::SkipWhitespace())) {
    const absl::string_view name = absl::StripAsciiWhitespace(part);
    if (name == "health") {
      exemptions.health = true;
    } else if (name == "reflection") {
      exemptions.reflection = true;
    } else if (name == "metrics") {
      exemptions.metrics = true;
    } else {
      return absl::InvalidArgumentError(
          absl::StrCat("--auth-exempt: \"", Printable(name, 200),
                       "\" is none of health, reflection, metrics"));
    }
  }
  return exemptions;
}

}  // namespace locus::server
