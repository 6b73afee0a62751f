// What a command is. Each lives in a file of its own and stands in the list in
// app.cc.
#pragma once

#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "client/cli/support/cli11_fwd.h"

namespace locus::client {

// What a command that ran has to show.
struct Outcome {
  // For standard output.
  std::string text = "";
  int exit_code = 0;
};

using Action = std::function<absl::StatusOr<Outcome>()>;

// Each adds its command to the program; if the command is chosen, `action` is
// set to what is to be done once the whole line has been read.
void AddSchemes(CLI::App& app, Action& action);
void AddEncode(CLI::App& app, Action& action);
void AddAttend(CLI::App& app, Action& action);
void AddCheck(CLI::App& app, Action& action);
void AddEvaluate(CLI::App& app, Action& action);
void AddPlot(CLI::App& app, Action& action);
void AddExplain(CLI::App& app, Action& action);
void AddHfConfig(CLI::App& app, Action& action);
void AddConvertLayout(CLI::App& app, Action& action);
void AddLoad(CLI::App& app, Action& action);
void AddHealth(CLI::App& app, Action& action);
void AddVersion(CLI::App& app, Action& action);
void AddCompletion(CLI::App& app, Action& action);
void AddManual(CLI::App& app, Action& action);

// "locus 0.1.0 (commit 0123456789ab; release, GNU 12.2.0, x86_64)".
std::string VersionLine();

}  // namespace locus::client
