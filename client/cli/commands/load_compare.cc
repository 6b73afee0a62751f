#include <memory>

#include "CLI/CLI.hpp"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "client/base/printable.h"
#include "client/base/status_macros.h"
#include "client/cli/commands/command.h"
#include "client/cli/render/load_table.h"
#include "client/cli/support/cli_errors.h"
#include "client/cli/support/command_line.h"
#include "client/cli/support/terminal.h"
#include "client/io/file.h"
#include "client/report/load_page.h"

namespace locus::client {
namespace {

constexpr char kLoadCompareExamples[] =
    R"(A figure is better or worse if the 95 % confidence intervals of the two runs do
not overlap; the intervals assume independent calls. If they overlap, it is the
same if it changed by at most 5 %, and not certain otherwise. Exits with 1 if a
figure grew by more than its --fail-above.

Examples:
  locus load --rate 1000 -o before.json
  locus load --rate 1000 -o after.json
  locus load compare before.json after.json --fail-above p99=10%
  locus load compare before.json after.json --all -o compare.html)";

// Enough for histograms of a few thousand bins and one row per second of a run
// of several hours.
constexpr int64_t kMaxRunBytes = int64_t{64} << 20;

struct CompareFlags {
  std::string before;
  std::string after;
  std::vector<std::string> fail_above;
  bool all = false;
  std::string out;
};

absl::StatusOr<load::Result> ReadRun(const std::string& path) {
  absl::StatusOr<FileReader> reader = FileReader::Open(path);
  if (!reader.ok()) return AsUsage(reader.status());
  const absl::StatusOr<std::string> text = reader->Read(kMaxRunBytes);
  if (!text.ok()) return AsUsage(text.status());
  auto result = load::ParseJsonReport(*text);
  if (!result.ok()) return AsUsage(result.status(), path);
  return result;
}

absl::Status CheckComparisonFile(const std::string& path) {
  if (path.empty()) return absl::OkStatus();
  if (!absl::EndsWith(path, ".html")) {
    return UsageError(absl::StrCat("--out: ", path, " must end in .html"));
  }
  return CheckWritable(path);
}

absl::Status WriteComparison(const std::string& path,
                             const LoadComparison& comparison) {
  if (path.empty()) return absl::OkStatus();
  FileReplacement files;
  CLIENT_RETURN_IF_ERROR(
      files.Add(path, Printable(MakeLoadComparisonPage(comparison))));
  return files.Commit();
}

absl::StatusOr<Outcome> Run(const CompareFlags& flags) {
  std::vector<load::GrowthLimit> limits;
  for (const std::string& text : flags.fail_above) {
    const auto limit = load::ParseGrowthLimit(text);
    if (!limit.ok()) return AsUsage(limit.status(), "--fail-above");
    limits.push_back(*limit);
  }
  CLIENT_RETURN_IF_ERROR(CheckComparisonFile(flags.out));
  CLIENT_ASSIGN_OR_RETURN(const load::Result before, ReadRun(flags.before));
  CLIENT_ASSIGN_OR_RETURN(const load::Result after, ReadRun(flags.after));
  const load::Comparison comparison = load::Compare(before, after);
  const std::vector<std::string> violations =
      load::Violations(limits, comparison);
  CLIENT_RETURN_IF_ERROR(
      PrintThenWrite(FormatComparison(comparison, flags.all), [&] {
        return WriteComparison(flags.out, {.before = before,
                                           .after = after,
                                           .comparison = comparison,
                                           .command = RecordedCommandLine()});
      }));
  for (const std::string& violation : violations) WriteError(violation);
  return Outcome{.exit_code = violations.empty() ? 0 : 1};
}

}  // namespace

void AddLoadCompare(CLI::App& load, Action& action) {
  CLI::App* command = load.add_subcommand("compare", "Compare two saved runs");
  command->footer(kLoadCompareExamples);
  auto flags = std::make_shared<CompareFlags>();
  command
      ->add_option("before", flags->before,
                   "The first run, saved with -o FILE.json")
      ->type_name("FILE")
      ->required();
  command->add_option("after", flags->after, "The second run")
      ->type_name("FILE")
      ->required();
  command
      ->add_option(
          "--fail-above", flags->fail_above,
          "Exit with 1 if the figure grew by more than this; may be repeated")
      ->type_name("FIGURE=GROWTH")
      ->allow_extra_args(false);
  command->add_flag("--all", flags->all,
                    "Show all figures: every percentile of latency, service, "
                    "queue and compute time");
  command
      ->add_option("-o,--out", flags->out,
                   "Also write an .html page with charts of both runs")
      ->type_name("FILE");
  command->callback(
      [flags, &action] { action = [flags] { return Run(*flags); }; });
}

}  // namespace locus::client
