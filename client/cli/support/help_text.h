// Help texts of commands: usage, examples, flags and notes, wrapped at words.
#pragma once

#include <string>

#include "absl/strings/string_view.h"
#include "client/cli/support/cli11_fwd.h"
#include "client/cli/support/command_tree.h"

namespace locus::client {

// The help text of a command, at most `width` columns wide. `path` is the
// command as it is typed, such as "locus load". The examples of its footer come
// first, and other paragraphs of the footer last. Flags of kConnectionGroup are
// folded to one line that refers to `locus help connection`.
std::string HelpText(const CommandNode& command, absl::string_view path,
                     int width);

// The text of `locus help connection`: the flags of kConnectionGroup of
// `command`, with their environment variables.
std::string ConnectionHelp(const CommandNode& command, int width);

// An example of a footer, broken into lines of at most `width` columns that a
// shell joins again: lines end with a backslash, and quoted words stay whole. A
// comment at the end of the line moves to a line of its own before it.
std::string WrapExample(absl::string_view line, int width);

// Makes `app` and the commands that are added to it later print HelpText() for
// --help.
void UseHelpText(CLI::App& app);

}  // namespace locus::client
