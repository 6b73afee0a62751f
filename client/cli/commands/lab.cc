#include <algorithm>
#include <memory>

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "client/base/status_macros.h"
#include "client/cli/commands/command.h"
#include "client/cli/labs/lab.h"
#include "client/cli/labs/lab_files.h"
#include "client/cli/render/evaluation_files.h"
#include "client/cli/render/table.h"
#include "client/cli/requests/seed_flag.h"
#include "client/cli/support/cli_errors.h"
#include "client/cli/support/color.h"
#include "client/cli/support/interrupt.h"
#include "client/cli/support/session.h"
#include "client/cli/support/terminal.h"
#include "core/base/suggest.h"

namespace locus::client {
namespace {

constexpr char kLabExamples[] =
    R"(Runs an exercise of the course: prints the story with its numbers and PASS or
FAIL for every assertion, and writes demo_output.txt, README.md, manifest.json
and figures to a folder. Exits with 1 if an assertion fails. The same seed gives
the same files, apart from the date. Without a name, lists the labs.

Examples:
  locus lab
  locus lab equivariance
  locus lab equivariance --tokens "he works" --dim 16 --out hand-in/
  locus lab ordering --seeds 5 --answers
  locus lab sinusoidal --lang es)";

struct LabFlags {
  CommonFlags common;
  std::string name;
  std::string out;
  std::optional<uint64_t> seed;
  std::string tokens;
  std::optional<int64_t> dim;
  std::optional<int64_t> seed_count;
  std::optional<int64_t> step_count;
  std::string language = "en";
  bool answers = false;
};

constexpr Text kWrote = {"wrote $0 files to $1; open $1/README.md\n",
                         "$0 archivos escritos en $1; abra $1/README.md\n"};
constexpr Text kAllPassed = {"All $0 assertions hold.",
                             "Las $0 comprobaciones se cumplen."};
constexpr Text kSomeFailed = {"$1 of $0 assertions FAILED.",
                              "FALLAN $1 de $0 comprobaciones."};

std::string ListLabs(Language language) {
  std::vector<std::vector<std::string>> rows;
  for (const Lab& lab : Labs()) {
    rows.push_back({std::string(lab.name), lab.title.In(language)});
  }
  return FormatRows(rows);
}

std::vector<std::string> LabNames() {
  std::vector<std::string> names;
  for (const Lab& lab : Labs()) names.emplace_back(lab.name);
  return names;
}

absl::StatusOr<const Lab*> FindLab(const std::string& name) {
  for (const Lab& lab : Labs()) {
    if (lab.name == name) return &lab;
  }
  return UsageError(absl::StrCat(
      "there is no lab \"", name, "\"", DidYouMean(name, LabNames()),
      " (labs: ", absl::StrJoin(LabNames(), ", "), ")"));
}

absl::Status RejectUnused(const LabFlags& flags, const Lab& lab) {
  const auto reject = [&lab](bool given, bool used, const char* flag) {
    if (!given || used) return absl::OkStatus();
    return UsageError(
        absl::StrCat(flag, ": the lab ", lab.name, " does not use it"));
  };
  CLIENT_RETURN_IF_ERROR(
      reject(!flags.tokens.empty(), lab.has_tokens, "--tokens"));
  CLIENT_RETURN_IF_ERROR(reject(flags.dim.has_value(), lab.has_dim, "--dim"));
  CLIENT_RETURN_IF_ERROR(
      reject(flags.seed_count.has_value(), lab.is_trained, "--seeds"));
  return reject(flags.step_count.has_value(), lab.is_trained, "--steps");
}

absl::Status RequireAtLeast(const std::optional<int64_t>& value, int64_t min,
                            const char* flag) {
  if (!value.has_value() || *value >= min) return absl::OkStatus();
  return UsageError(
      absl::StrCat(flag, ": is ", *value, "; must be at least ", min));
}

absl::StatusOr<LabOptions> OptionsOf(const LabFlags& flags) {
  CLIENT_RETURN_IF_ERROR(RequireAtLeast(flags.dim, 1, "--dim"));
  CLIENT_RETURN_IF_ERROR(RequireAtLeast(flags.seed_count, 1, "--seeds"));
  CLIENT_RETURN_IF_ERROR(RequireAtLeast(flags.step_count, 1, "--steps"));
  LabOptions options{
      .answers = flags.answers,
      .seed = flags.seed.value_or(0),
      .tokens = absl::StrSplit(flags.tokens, ' ', absl::SkipEmpty()),
      .dim = flags.dim,
      .seed_count = flags.seed_count,
      .step_count = flags.step_count};
  if (flags.language == "es") {
    options.language = Language::kSpanish;
  } else if (flags.language != "en") {
    return UsageError(
        absl::StrCat("--lang: is ", flags.language, "; must be en or es"));
  }
  if (!flags.tokens.empty() && options.tokens.size() < 2) {
    return UsageError(
        "--tokens: give at least two words, such as \"he works\"");
  }
  return options;
}

// The story with coloured verdicts, for a terminal.
std::string Colored(const std::string& story) {
  return absl::StrReplaceAll(
      story, {{"\nPASS  ", absl::StrCat("\n", Good("PASS"), "  ")},
              {"\nFAIL  ", absl::StrCat("\n", Bad("FAIL"), "  ")}});
}

absl::StatusOr<Outcome> Run(const LabFlags& flags) {
  CLIENT_ASSIGN_OR_RETURN(const LabOptions options, OptionsOf(flags));
  if (flags.name.empty()) return Outcome{.text = ListLabs(options.language)};
  CLIENT_ASSIGN_OR_RETURN(const Lab* const lab, FindLab(flags.name));
  CLIENT_RETURN_IF_ERROR(RejectUnused(flags, *lab));
  const std::string folder =
      flags.out.empty() ? absl::StrCat("lab-", lab->name) : flags.out;
  CLIENT_RETURN_IF_ERROR(PrepareFolder(folder));
  CLIENT_ASSIGN_OR_RETURN(const Session session, OpenSession(flags.common));
  LabReport report(options.language);
  const absl::Status status = lab->run(options, *session.client, report);
  if (!status.ok()) {
    if (SignalScope::signal() != 0) {
      WriteError("interrupted; no file was written");
      return Outcome{.exit_code = 128 + SignalScope::signal()};
    }
    return WithFlagHint(status, {{"module.dim", "--dim"},
                                 {"dim", "--dim"},
                                 {"module.tokens", "--tokens"},
                                 {"seed_count", "--seeds"},
                                 {"trained.training.step_count", "--steps"}});
  }
  const int count = static_cast<int>(report.assertions().size());
  const int failed = report.failed_count();
  report.Show(failed == 0 ? report.Format(kAllPassed, count)
                          : report.Format(kSomeFailed, count, failed));
  int files = 0;
  CLIENT_RETURN_IF_ERROR(PrintThenWrite(Colored(report.story()), [&] {
    const auto written = WriteLab(folder, *lab, options, report, absl::Now());
    if (written.ok()) files = *written;
    return written.status();
  }));
  return Outcome{.text = report.Format(kWrote, files, folder),
                 .exit_code = failed == 0 ? 0 : 1};
}

}  // namespace

void AddLab(CLI::App& app, Action& action) {
  CLI::App* command =
      app.add_subcommand("lab", "Run an exercise of the course");
  command->footer(kLabExamples);
  auto flags = std::make_shared<LabFlags>();
  // Two evaluations may take minutes on a slow machine.
  flags->common.timeout = "30m";
  command
      ->add_option(
          "name", flags->name,
          absl::StrCat("Name of the lab: ", absl::StrJoin(LabNames(), ", ")))
      ->type_name("NAME");
  command
      ->add_option("-o,--out", flags->out,
                   "Folder for the results; default lab-NAME")
      ->type_name("DIR");
  AddSeedFlag(*command, flags->seed, "Seed of all random numbers; default 0",
              "Options");
  const auto add = [&](const char* name, auto& target, const char* type,
                       const char* description) {
    command->add_option(name, target, description)->type_name(type);
  };
  add("-t,--tokens", flags->tokens, "WORDS",
      "Words of the equivariance lab; default \"he work I\"");
  add("-d,--dim", flags->dim, "N", "Width; default: by lab");
  add("--seeds", flags->seed_count, "N",
      "Number of seeds of a lab that trains models; default 3");
  add("--steps", flags->step_count, "N",
      "Training steps of a lab that trains models; default: by task");
  add("--lang", flags->language, "LANGUAGE", "Language: en or es");
  command->add_flag("--answers", flags->answers,
                    "Answer the questions of the README");
  AddServiceFlags(*command, flags->common);
  command->callback(
      [flags, &action] { action = [flags] { return Run(*flags); }; });
}

}  // namespace locus::client
