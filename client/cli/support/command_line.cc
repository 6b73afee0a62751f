#include "client/cli/support/command_line.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"

namespace locus::client {
namespace {

std::string& Remembered() {
  static auto* const command = new std::string();
  return *command;
}

bool IsHarmless(char c) {
  return absl::ascii_isalnum(static_cast<unsigned char>(c)) ||
         absl::string_view("-_./:=,@%+").find(c) != absl::string_view::npos;
}

}  // namespace

std::string ShellQuoted(absl::string_view argument) {
  if (!argument.empty() &&
      std::all_of(argument.begin(), argument.end(), IsHarmless)) {
    return std::string(argument);
  }
  return absl::StrCat("'", absl::StrReplaceAll(argument, {{"'", "'\\''"}}),
                      "'");
}

std::string ShellCommand(int argc, const char* const* argv) {
  std::string command = "locus";
  for (int i = 1; i < argc; ++i) {
    absl::StrAppend(&command, " ", ShellQuoted(argv[i]));
  }
  return command;
}

void SetCommandLine(int argc, const char* const* argv) {
  Remembered() = ShellCommand(argc, argv);
}

const std::string& CommandLine() { return Remembered(); }

}  // namespace locus::client
