// The commands of the program. Each command has a file of its own in this
// folder and an entry in the list of commands in app.cc.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "client/cli/support/cli11_fwd.h"

namespace locus::client {

// The result of a command that did not fail with an error.
struct Outcome {
  // Text to print on standard output.
  std::string text = "";
  int exit_code = 0;
};

// The work of a command, called once the whole command line has been parsed.
using Action = std::function<absl::StatusOr<Outcome>()>;

// Each function adds one command to `app`. The parser sets `action` if the
// command is given on the command line. `app` and `action` must outlive parsing
// and the action.
void AddSchemes(CLI::App& app, Action& action);
void AddEncode(CLI::App& app, Action& action);
void AddAttend(CLI::App& app, Action& action);
void AddCheck(CLI::App& app, Action& action);
void AddEvaluate(CLI::App& app, Action& action);
void AddPlot(CLI::App& app, Action& action);
void AddExplain(CLI::App& app, Action& action);
void AddCompare(CLI::App& app, Action& action);
void AddLab(CLI::App& app, Action& action);
void AddHfConfig(CLI::App& app, Action& action);
void AddConvertLayout(CLI::App& app, Action& action);
void AddLoad(CLI::App& app, Action& action);
// Adds `locus load compare` to the `load` command.
void AddLoadCompare(CLI::App& load, Action& action);
void AddHealth(CLI::App& app, Action& action);
void AddVersion(CLI::App& app, Action& action);
void AddCompletion(CLI::App& app, Action& action);
void AddManual(CLI::App& app, Action& action);
void AddHelp(CLI::App& app, Action& action);

// The version of the program, for example
// "locus 0.1.0 (commit 0123456789ab; release, GNU 12.2.0, x86_64)".
std::string VersionLine();

// The services of the contract that `locus health --service` can check, such as
// "locus.v1.AttentionService".
std::vector<std::string> ServiceNames();

}  // namespace locus::client
