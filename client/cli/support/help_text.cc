#include "client/cli/support/help_text.h"

#include <algorithm>
#include <memory>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "client/cli/support/color.h"
#include "client/cli/support/terminal.h"
#include "client/cli/support/text_layout.h"

namespace locus::client {
namespace {

constexpr char kExamples[] = "Examples:";
// Longer lines are hard to read, even if the terminal is wider.
constexpr int kMaxTextWidth = 100;

// A line of a list: a flag or a command, and its description.
struct Entry {
  std::string name;
  std::string description;
};

// Lists entries in two columns. A name that is too long for the left column
// gets a line of its own.
std::string FormatEntries(const std::vector<Entry>& entries, int width) {
  constexpr int kIndent = 2;
  constexpr int kMaxNameWidth = 24;
  int name_width = 0;
  for (const Entry& entry : entries) {
    const int needed = DisplayWidth(entry.name);
    if (needed <= kMaxNameWidth) name_width = std::max(name_width, needed);
  }
  const int column = kIndent + name_width + 2;
  std::string text;
  for (const Entry& entry : entries) {
    const std::string description =
        WrapParagraph(entry.description, width, column);
    absl::StrAppend(&text, std::string(kIndent, ' '), entry.name);
    if (DisplayWidth(entry.name) > name_width) {
      absl::StrAppend(&text, "\n", description);
    } else {
      absl::StrAppend(&text,
                      description.substr(kIndent + DisplayWidth(entry.name)));
    }
  }
  return text;
}

// The description of a flag with everything that the parser knows about it.
std::string DescriptionOf(const OptionNode& option) {
  std::vector<std::string> facts;
  if (option.required) facts.push_back("required");
  if (!option.default_value.empty()) {
    facts.push_back(absl::StrCat("default ", option.default_value));
  }
  if (!option.excludes.empty()) {
    facts.push_back(
        absl::StrCat("not with ", absl::StrJoin(option.excludes, " or ")));
  }
  if (!option.variable.empty()) {
    facts.push_back(absl::StrCat("variable ", option.variable));
  }
  if (facts.empty()) return option.help;
  return absl::StrCat(option.help, " (", absl::StrJoin(facts, "; "), ")");
}

Entry EntryOf(const OptionNode& option) {
  if (option.positional) {
    return {absl::AsciiStrToUpper(option.names[0]), DescriptionOf(option)};
  }
  return {absl::StrCat(absl::StrJoin(option.names, ", "),
                       option.value.empty() ? "" : " ", option.value),
          DescriptionOf(option)};
}

std::string FormatSection(absl::string_view title,
                          const std::vector<Entry>& entries, int width) {
  if (entries.empty()) return "";
  return absl::StrCat("\n", Bold(absl::StrCat(title, ":")), "\n",
                      FormatEntries(entries, width));
}

std::string FormatUsage(const CommandNode& command, absl::string_view path) {
  std::string usage = absl::StrCat(Bold("Usage:"), " ", path);
  if (!command.commands.empty()) {
    const bool optional =
        std::any_of(command.options.begin(), command.options.end(),
                    [](const OptionNode& one) { return one.positional; });
    absl::StrAppend(&usage, optional ? " [COMMAND]" : " COMMAND");
  }
  for (const OptionNode& option : command.options) {
    if (!option.positional) continue;
    const std::string name = absl::StrCat(
        absl::AsciiStrToUpper(option.names[0]), option.repeated ? "..." : "");
    absl::StrAppend(&usage, " ",
                    option.required ? name : absl::StrCat("[", name, "]"));
  }
  return absl::StrCat(usage, " [OPTIONS]\n");
}

// The arguments, and then the flags by group. -h and --color, which all
// commands have, come last in their group.
std::string FormatOptions(const CommandNode& command, int width) {
  std::vector<Entry> arguments;
  std::vector<std::string> groups;
  for (const OptionNode& option : command.options) {
    if (option.positional) {
      arguments.push_back(EntryOf(option));
    } else if (option.group != kConnectionGroup &&
               std::find(groups.begin(), groups.end(), option.group) ==
                   groups.end()) {
      groups.push_back(option.group);
    }
  }
  std::string text = FormatSection("Arguments", arguments, width);
  const auto is_common = [](const OptionNode& option) {
    return option.names.back() == "--help" || option.names.back() == "--color";
  };
  for (const std::string& group : groups) {
    std::vector<Entry> own;
    std::vector<Entry> common;
    for (const OptionNode& option : command.options) {
      if (option.positional || option.group != group) continue;
      (is_common(option) ? common : own).push_back(EntryOf(option));
    }
    own.insert(own.end(), common.rbegin(), common.rend());
    absl::StrAppend(&text, FormatSection(group, own, width));
  }
  return text;
}

// One line for all flags of the connection.
std::string FormatConnection(const CommandNode& command, int width) {
  std::string server;
  std::string timeout;
  for (const OptionNode& option : command.options) {
    if (option.group != kConnectionGroup) continue;
    std::string name = option.names.back();
    // `locus help connection` states this default of most commands.
    const bool is_typical = option.default_value == "60s";
    if (!option.default_value.empty() && !is_typical) {
      absl::StrAppend(&name, " (default ", option.default_value, ")");
    }
    if (option.names.back() == "--server") server = name;
    if (option.names.back() == "--timeout") timeout = name;
  }
  if (server.empty()) return "";
  return absl::StrCat(
      "\n", WrapParagraph(
                absl::StrCat(Bold("Connection:"), " ", server, ", ", timeout,
                             ", TLS and tokens; see `locus help connection`"),
                width));
}

std::string FormatExamples(absl::string_view paragraph, int width) {
  const std::vector<absl::string_view> lines = absl::StrSplit(paragraph, '\n');
  std::string text = absl::StrCat("\n", Bold(lines[0]), "\n");
  for (size_t i = 1; i < lines.size(); ++i) {
    text += WrapExample(lines[i], width);
  }
  return text;
}

// Whether a paragraph is a list or code, whose line breaks must be kept.
bool HasOwnLines(absl::string_view paragraph) {
  return absl::StartsWith(paragraph, " ") ||
         absl::StrContains(paragraph, "\n ");
}

}  // namespace

std::string WrapExample(absl::string_view line, int width) {
  if (DisplayWidth(line) <= width) return absl::StrCat(line, "\n");
  const size_t begin = std::min(line.find_first_not_of(' '), line.size());
  const std::string indent(begin, ' ');
  // Split at spaces outside of quotes.
  std::vector<std::string> words = {""};
  char quote = 0;
  for (size_t i = begin; i < line.size(); ++i) {
    const char c = line[i];
    if (quote == 0 && c == '#' && words.back().empty()) {
      const absl::string_view command =
          absl::StripTrailingAsciiWhitespace(line.substr(0, i));
      return absl::StrCat(indent, line.substr(i), "\n",
                          WrapExample(command, width));
    }
    if (quote == 0 && c == ' ') {
      if (!words.back().empty()) words.emplace_back();
      continue;
    }
    if (quote == 0 && (c == '\'' || c == '"')) {
      quote = c;
    } else if (c == quote) {
      quote = 0;
    }
    words.back().push_back(c);
  }
  constexpr int kBackslash = 2;
  std::string text;
  std::string current = indent;
  for (const std::string& word : words) {
    const bool is_first = absl::StripAsciiWhitespace(current).empty();
    if (!is_first &&
        DisplayWidth(current) + 1 + DisplayWidth(word) + kBackslash > width) {
      absl::StrAppend(&text, current, " \\\n");
      current = absl::StrCat(indent, "    ", word);
    } else {
      absl::StrAppend(&current, is_first ? "" : " ", word);
    }
  }
  return absl::StrCat(text, current, "\n");
}

std::string HelpText(const CommandNode& command, absl::string_view path,
                     int width) {
  width = std::min(width, kMaxTextWidth);
  std::string examples;
  std::string notes;
  for (const absl::string_view paragraph :
       absl::StrSplit(absl::StripAsciiWhitespace(command.footer), "\n\n")) {
    if (paragraph.empty()) continue;
    if (absl::StartsWith(paragraph, kExamples)) {
      absl::StrAppend(&examples, FormatExamples(paragraph, width));
    } else {
      absl::StrAppend(&notes, "\n",
                      HasOwnLines(paragraph) ? absl::StrCat(paragraph, "\n")
                                             : WrapParagraph(paragraph, width));
    }
  }
  std::vector<Entry> commands;
  for (const CommandNode& one : command.commands) {
    commands.push_back({one.name, one.help});
  }
  return absl::StrCat(WrapParagraph(absl::StrCat(command.help, "."), width),
                      "\n", FormatUsage(command, path), examples,
                      FormatSection("Commands", commands, width),
                      FormatOptions(command, width),
                      FormatConnection(command, width), notes);
}

std::string ConnectionHelp(const CommandNode& command, int width) {
  width = std::min(width, kMaxTextWidth);
  std::vector<Entry> entries;
  for (const OptionNode& option : command.options) {
    if (option.group == kConnectionGroup) entries.push_back(EntryOf(option));
  }
  return absl::StrCat(
      WrapParagraph("How commands reach a server.", width), "\n",
      WrapParagraph(
          "Without --server, commands use a server inside this process, which "
          "needs no port and no set-up; only `locus health` connects to the "
          "local server. A flag that names a variable can be set by it, so "
          "that "
          "all commands share the settings; the flag wins over the variable.",
          width),
      "\n", Bold(kExamples), "\n",
      "  locus schemes --server localhost:50051\n"
      "  LOCUS_SERVER=localhost:50051 locus schemes\n",
      WrapExample("  locus schemes --server locus.example.com:443 --ca ca.pem "
                  "--token-file token",
                  width),
      FormatSection("Connection", entries, width));
}

void UseHelpText(CLI::App& app) {
  // Subcommands inherit the formatter of the app that they are added to.
  class Formatter : public CLI::FormatterBase {
   public:
    std::string make_help(const CLI::App* command, std::string path,
                          CLI::AppFormatMode) const override {
      return HelpText(TreeOf(*command), path, OutputColumns());
    }
  };
  app.formatter(std::make_shared<Formatter>());
}

}  // namespace locus::client
