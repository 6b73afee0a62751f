// Generates the manual page from the same data as the help texts.
#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "client/cli/support/command_tree.h"

namespace locus::client {
namespace {

// Escapes text for man(7): dashes stay ASCII dashes, and a line that begins
// with a dot or an apostrophe is not read as a request.
std::string Escaped(absl::string_view text) {
  std::string out;
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    if (!out.empty()) out += '\n';
    if (absl::StartsWith(line, ".") || absl::StartsWith(line, "'")) {
      out += "\\&";
    }
    absl::StrAppend(&out,
                    absl::StrReplaceAll(line, {{"\\", "\\e"}, {"-", "\\-"}}));
  }
  return out;
}

// Whether `option` is described in the section of connection options.
bool IsOfConnection(const OptionNode& option) {
  return option.group == kConnectionGroup;
}

// Whether every command has the option. The options of the program describe it.
bool IsOfEveryCommand(const OptionNode& option) {
  return option.names.back() == "--help" || option.names.back() == "--color";
}

// Appends the options for which `is_listed` returns true.
template <typename Predicate>
void AppendOptions(const CommandNode& command, Predicate is_listed,
                   std::string* page) {
  for (const OptionNode& option : command.options) {
    if (!is_listed(option)) continue;
    absl::StrAppend(page, ".TP\n\\fB",
                    Escaped(absl::StrJoin(option.names, ", ")), "\\fR");
    if (!option.value.empty()) {
      absl::StrAppend(page, " \\fI", Escaped(option.value), "\\fR");
    }
    absl::StrAppend(page, "\n", Escaped(option.help));
    if (!option.variable.empty()) {
      absl::StrAppend(page, " (environment variable ", option.variable, ")");
    }
    absl::StrAppend(page, "\n");
  }
}

// Appends the footer without filling, because examples have their own lines.
void AppendFooter(const CommandNode& command, std::string* page) {
  if (command.footer.empty()) return;
  absl::StrAppend(page, ".PP\n.nf\n",
                  Escaped(absl::StripAsciiWhitespace(command.footer)),
                  "\n.fi\n");
}

void AppendCommands(const CommandNode& command, const std::string& path,
                    std::string* page) {
  for (const CommandNode& one : command.commands) {
    const std::string name = absl::StrCat(path, " ", one.name);
    absl::StrAppend(page, ".SS ", Escaped(name), "\n", Escaped(one.help),
                    ".\n");
    AppendOptions(
        one,
        [](const OptionNode& option) {
          return !IsOfConnection(option) && !IsOfEveryCommand(option);
        },
        page);
    AppendFooter(one, page);
    AppendCommands(one, name, page);
  }
}

// Appends the options of the connection once for all commands, as the first
// command that has them describes them.
void AppendConnection(const CommandNode& tree, std::string* page) {
  for (const CommandNode& one : tree.commands) {
    if (std::none_of(one.options.begin(), one.options.end(), IsOfConnection)) {
      continue;
    }
    absl::StrAppend(
        page,
        ".SH CONNECTION OPTIONS\nCommands that call a server have "
        "these options. Defaults of \\fB\\-\\-timeout\\fR differ.\n");
    AppendOptions(one, IsOfConnection, page);
    return;
  }
}

}  // namespace

std::string ManualPage(const CommandNode& tree, absl::string_view version) {
  std::string page = absl::StrCat(
      ".TH ", absl::AsciiStrToUpper(tree.name), " 1 \"\" \"", tree.name, " ",
      version, "\"\n.SH NAME\n", tree.name, " \\- ",
      Escaped(absl::AsciiStrToLower(tree.help.substr(0, 1))),
      Escaped(tree.help.substr(1)), "\n.SH SYNOPSIS\n\\fB", tree.name,
      "\\fR \\fICOMMAND\\fR [\\fIOPTION\\fR]...\n.SH OPTIONS\n");
  AppendOptions(
      tree, [](const OptionNode&) { return true; }, &page);
  absl::StrAppend(&page, ".SH COMMANDS\n");
  AppendCommands(tree, tree.name, &page);
  AppendConnection(tree, &page);
  absl::StrAppend(&page, ".SH EXAMPLES AND EXIT STATUS\n");
  AppendFooter(tree, &page);
  absl::StrAppend(&page, ".SH SEE ALSO\n\\fBlocusd\\fR(8)\n");
  return page;
}

}  // namespace locus::client
