#include "client/cli/support/command_line.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"

namespace locus::client {
namespace {

std::string& Recorded() {
  static auto* const text = new std::string;
  return *text;
}

}  // namespace

std::string ShellQuoted(const std::string& argument) {
  constexpr char kPlain[] =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
      "%+,-./:=@_";
  if (!argument.empty() &&
      argument.find_first_not_of(kPlain) == std::string::npos) {
    return argument;
  }
  return absl::StrCat("'", absl::StrReplaceAll(argument, {{"'", "'\\''"}}),
                      "'");
}

void RecordCommandLine(int argc, const char* const* argv) {
  std::string& text = Recorded();
  text = "locus";
  for (int i = 1; i < argc; ++i) {
    absl::StrAppend(&text, " ", ShellQuoted(argv[i]));
  }
}

const std::string& RecordedCommandLine() { return Recorded(); }

}  // namespace locus::client
