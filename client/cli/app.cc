#include "client/cli/app.h"

#include <exception>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "client/cli/commands/command.h"
#include "client/cli/support/cli_errors.h"
#include "client/cli/support/color.h"
#include "client/cli/support/command_line.h"
#include "client/cli/support/help_text.h"
#include "client/cli/support/parser_errors.h"
#include "client/cli/support/terminal.h"
#include "core/base/suggest.h"

namespace locus::client {
namespace {

constexpr char kFooter[] = R"(Examples:
  locus schemes
  locus encode rope --dim 8
  locus attend alibi --tokens "the cat sat on the mat"
  locus check rope
  locus evaluate rope alibi --task copy
  locus plot heatmap sinusoidal --out table.svg
  locus explain config.json
  locus compare rope rope:yarn.factor=4
  locus load --rate 2000 --duration 30s

Without --server, commands use a server inside this process. Run `locus help
COMMAND` for the flags of a command. Exit codes: 0 success, 1 the call or a check
failed or a file could not be written, 2 usage error, 130 interrupted. Tables fit
the terminal or COLUMNS; NO_COLOR switches colour off.)";

constexpr int kUsageExitCode = 2;

// All commands, in the order of the help text.
constexpr void (*kCommands[])(CLI::App&, Action&) = {
    AddSchemes,       AddEncode,  AddAttend,  AddCheck,   AddEvaluate,
    AddPlot,          AddExplain, AddCompare, AddLab,     AddHfConfig,
    AddConvertLayout, AddLoad,    AddHealth,  AddVersion, AddCompletion,
    AddManual,        AddHelp};

std::vector<std::string> CommandNames(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands({})) {
    names.push_back(command->get_name());
  }
  return names;
}

std::vector<std::string> OptionNames(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) {
      names.push_back(absl::StrCat("--", name));
    }
  }
  return names;
}

// The parser's error message with a suggestion and a reference to the help.
std::string UsageMessage(const CLI::App& app, const CLI::ParseError& error) {
  const std::vector<CLI::App*> chosen = app.get_subcommands();
  const CLI::App& command = chosen.empty() ? app : *chosen.front();
  std::string help =
      absl::StrCat(" (see locus ",
                   chosen.empty() ? "" : command.get_name() + " ", "--help)");
  const std::vector<std::string> extras = app.remaining(true);
  if (extras.empty()) {
    return absl::StrCat(ParserErrorText(error.what()), help);
  }
  const std::string& extra = extras.front();
  if (absl::StartsWith(extra, "-")) {
    return absl::StrCat("unknown flag ", extra,
                        DidYouMean(extra, OptionNames(command)), help);
  }
  if (chosen.empty()) {
    return absl::StrCat("unknown command ", extra,
                        DidYouMean(extra, CommandNames(app)), help);
  }
  return absl::StrCat("unexpected argument ", extra, help);
}

// Returns `exit_code`, or reports the error and returns its exit code.
int Finish(const absl::Status& status, int exit_code) {
  if (status.ok()) return exit_code;
  WriteError(ErrorLine(status));
  WriteProgress(ErrorExcerpt(status));
  return ExitCode(status);
}

int RunParsed(const Action& action) {
  const absl::StatusOr<Outcome> outcome = action();
  if (!outcome.ok()) return Finish(outcome.status(), 0);
  return Finish(WriteOutput(outcome->text), outcome->exit_code);
}

// Adds --color to a command and its subcommands, so that the flag can be given
// anywhere. Parsing it sets the colour at once, for errors and help texts too.
void AddColorFlag(CLI::App& command) {
  command
      .add_option_function<std::string>(
          "--color",
          [](const std::string& when) {
            const absl::Status status = SetColor(when);
            if (!status.ok()) {
              throw CLI::ValidationError(std::string(status.message()));
            }
          },
          "When to use colour: auto, always or never; default auto")
      ->type_name("WHEN");
  for (CLI::App* const one : command.get_subcommands({})) AddColorFlag(*one);
}

int Run(int argc, const char* const* argv) {
  CLI::App app("Positional encodings and attention as a service", "locus");
  SetColor("auto").IgnoreError();
  UseHelpText(app);
  app.footer(kFooter);
  app.set_version_flag("--version", VersionLine(), "Print the version");
  app.require_subcommand(0, 1);
  Action action;
  for (const auto add : kCommands) add(app, action);
  CheckNumberFlags(app);
  AddColorFlag(app);
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    return Finish(WriteOutput(app.help()), 0);
  } catch (const CLI::CallForVersion&) {
    return Finish(WriteOutput(VersionLine() + "\n"), 0);
  } catch (const CLI::ParseError& error) {
    WriteError(UsageMessage(app, error));
    return kUsageExitCode;
  }
  if (!action) return Finish(WriteOutput(app.help()), 0);
  return RunParsed(action);
}

}  // namespace

int RunApp(int argc, const char* const* argv) {
#ifdef NDEBUG
  // Debian's abseil is built with deadlock detection: every lock that gRPC
  // takes would be looked up in a graph of all locks, with a stack trace.
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
#endif
  OpenStandardDescriptors();
  InstallSignalHandlers();
  // Our own code does not throw, but libraries may, e.g. std::bad_alloc.
  try {
    RecordCommandLine(argc, argv);
    return Run(argc, argv);
  } catch (const std::exception& error) {
    WriteError(error.what());
    return 1;
  }
}

}  // namespace locus::client
