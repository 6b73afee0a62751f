#include "client/cli/commands/call_output.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/cli/requests/scheme_text.h"
#include "client/cli/support/terminal.h"

namespace locus::client {

std::string WithSizes(const v1::Scheme& scheme, absl::string_view note,
                      const std::string& text) {
  if (note.empty()) return text;
  return absl::StrCat(SchemeName(scheme), " ", note, "\n\n", text);
}

void ReportWritten(const std::vector<std::string>& paths) {
  std::vector<std::string> written;
  for (const std::string& path : paths) {
    if (!path.empty() && path != "-") written.push_back(path);
  }
  if (written.empty()) return;
  WriteError(absl::StrCat("wrote ", absl::StrJoin(written, ", ")));
}

}  // namespace locus::client
