#include <memory>

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/cli/commands/command.h"
#include "client/cli/commands/evaluate_call.h"
#include "client/cli/requests/evaluate_request.h"
#include "client/cli/render/evaluation_files.h"
#include "client/cli/render/evaluation_table.h"
#include "client/cli/support/terminal.h"
#include "client/cli/requests/scheme_flags.h"
#include "client/cli/requests/seed_flag.h"
#include "client/cli/support/session.h"
#include "client/cli/support/cli_errors.h"
#include "client/io/file.h"
#include "client/report/manifest.h"
#include "client/base/status_macros.h"

namespace locus::client {
namespace {

constexpr char kExamples[] =
    R"(Trains small transformers with every scheme for one length and tests them at
others; --pattern looks at one untrained attention layer instead. Writes
report.html, manifest.json, cells.csv and charts into a folder.

Examples:
  locus evaluate --task copy --scheme rope --scheme alibi --steps 300
  locus evaluate --pattern --train-length 64 --eval-lengths 64,128,256
  locus evaluate --corpus book.txt --train-length 128 --seeds 5 --out book/
  locus evaluate --from book/manifest.json --out again/   # draws it again

  locus evaluate --server one:50051,two:50051 --seeds 8 --out spread/

Of several servers each does whole runs (a scheme with a seed), and one that is
lost has its runs done by another; the result is the same as from one. Ctrl-C
ends it and shows what was finished.)";

struct EvaluateFlags {
  CommonFlags common{.timeout = "30m"};
  EvaluationFlags evaluation;
  std::string out = "locus-evaluation";
  bool no_out = false;
  bool quiet = false;
  std::string from;
};

// Of an evaluation that has no summary: what there is goes where the table
// would have gone.
absl::StatusOr<Outcome> EndEarly(const EvaluateFlags& flags,
                                 const ReceivedEvaluation& received) {
  if (!flags.no_out && !received.cells.empty()) {
    CLIENT_RETURN_IF_ERROR(RemoveEarlierEvaluation(flags.out, ""));
    CLIENT_RETURN_IF_ERROR(WriteCells(flags.out, received.cells));
  }
  if (received.signal != 0) WriteError("interrupted");
  const std::string finished =
      received.cells.empty() ? "nothing was finished\n"
                             : absl::StrCat("UNFINISHED. What there is:\n\n",
                                            FormatCells(received.cells));
  // Whoever asked for JSON has no use for half of it.
  const bool show =
      !flags.common.json && (received.signal != 0 || !received.cells.empty());
  if (received.signal != 0) {
    return Outcome{.text = show ? finished : "",
                   .exit_code = 128 + received.signal};
  }
  if (show) CLIENT_RETURN_IF_ERROR(WriteOutput(finished));
  return WithFlagHint(received.status, EvaluationHints());
}

absl::StatusOr<Outcome> Show(const EvaluateFlags& flags,
                             const std::string& manifest_text,
                             const std::vector<v1::EvaluationCell>& cells) {
  CLIENT_ASSIGN_OR_RETURN(const Manifest manifest,
                          ParseManifest(manifest_text));
  if (!flags.no_out) {
    CLIENT_RETURN_IF_ERROR(
        WriteEvaluation(flags.out, manifest, manifest_text, cells));
  }
  if (flags.common.json) return Outcome{.text = manifest_text + "\n"};
  std::string text = FormatEvaluation(manifest, OutputColumns());
  if (!flags.no_out) {
    absl::StrAppend(&text, "\nwrote ", flags.out,
                    flags.out.back() == '/' ? "" : "/",
                    "report.html and what it is made of\n");
  }
  return Outcome{.text = std::move(text)};
}

absl::StatusOr<Outcome> Redraw(const EvaluateFlags& flags) {
  absl::StatusOr<FileReader> reader = FileReader::Open(flags.from);
  if (!reader.ok()) return AsUsage(reader.status(), "--from");
  const absl::StatusOr<std::string> text = reader->Read(kMaxManifestBytes);
  if (!text.ok()) return AsUsage(text.status(), "--from");
  if (const auto manifest = ParseManifest(*text); !manifest.ok()) {
    return AsUsage(manifest.status(), absl::StrCat("--from: ", flags.from));
  }
  if (!flags.no_out) {
    CLIENT_RETURN_IF_ERROR(PrepareFolder(flags.out));
    CLIENT_RETURN_IF_ERROR(RemoveEarlierEvaluation(flags.out, *text));
  }
  return Show(flags, *text, {});
}

absl::StatusOr<Outcome> Run(const EvaluateFlags& flags) {
  if (!flags.no_out && flags.out.empty()) {
    return UsageError("--out: is empty; name a folder, or say --no-out");
  }
  if (!flags.from.empty()) return Redraw(flags);
  CLIENT_ASSIGN_OR_RETURN(const v1::EvaluateExtrapolationRequest request,
                          MakeEvaluationRequest(flags.evaluation));
  if (!flags.no_out) CLIENT_RETURN_IF_ERROR(PrepareFolder(flags.out));
  CLIENT_ASSIGN_OR_RETURN(const ReceivedEvaluation received,
                          CallEvaluation(flags.common, request, flags.quiet));
  if (!received.status.ok()) return EndEarly(flags, received);
  if (!received.summary.has_value()) {
    return absl::InternalError("the server sent no summary");
  }
  const std::string& manifest = received.summary->manifest_json();
  if (!flags.no_out) {
    CLIENT_RETURN_IF_ERROR(RemoveEarlierEvaluation(flags.out, manifest));
    CLIENT_RETURN_IF_ERROR(WriteCells(flags.out, received.cells));
  }
  return Show(flags, manifest, received.cells);
}

// Adds to one group of the help.
auto Adder(CLI::App& command, const char* group) {
  return [&command, group](const char* name, auto& target, const char* type,
                           const std::string& description) {
    return command.add_option(name, target, description)
        ->type_name(type)
        ->group(group);
  };
}

void AddQuestionFlags(CLI::App& command, EvaluationFlags& flags) {
  const auto add = Adder(command, "Question");
  add("--task", flags.task, "TASK",
      absl::StrCat(absl::StrJoin(EvaluationTasks(), ", "), "; default text"));
  command
      .add_flag("--pattern", flags.pattern,
                "Look at one untrained attention layer instead")
      ->group("Question");
  add("-s,--scheme", flags.schemes, "SCHEME",
      "As in `locus encode`; may be repeated; default: the six best known, of "
      "--pattern too; of retrofit: rope and each of its scalings by 2, 4 and 8")
      ->allow_extra_args(false);
  AddConfigsFlag(command, flags.hf_configs, "Question");
  add("--train-length", flags.train_length, "N",
      "Tokens to train for, default 32, or build for, default 64");
  add("--eval-lengths", flags.eval_lengths, "LIST",
      "Tokens to test with, 64,128,256; default: multiples of train-length")
      ->delimiter(',')
      ->allow_extra_args(false);
  AddSeedFlag(command, flags.seed, "The first seed; default 0", "Question");
  add("--seeds", flags.seed_count, "N", "How many; default 3, patterns 1");
  add("--corpus", flags.corpus, "FILE",
      "Your own text, at most 4 MiB (text, retrofit)");
}

void AddModelFlags(CLI::App& command, EvaluationFlags& flags) {
  const auto add = Adder(command, "Model");
  add("-d,--dim", flags.dim, "N", "Width; default 64, patterns 32");
  add("--layers", flags.layer_count, "N", "Default 2");
  add("--heads", flags.head_count, "N", "Default 4, patterns 2");
  add("--feed-forward", flags.feed_forward_dim, "N", "Default 4 times dim");
  CLI::Option* causal =
      command.add_flag("--causal", flags.causal, "No token sees the next")
          ->group("Model");
  command
      .add_flag("--bidirectional", flags.bidirectional,
                "All tokens see each other; default: as the task has it")
      ->group("Model")
      ->excludes(causal);
  add("--steps", flags.step_count, "N", "Of training; default: by the task");
  add("--batch", flags.batch_size, "N", "Sequences per step; default 32");
  add("--learning-rate", flags.learning_rate, "X", "Default 0.002");
}

}  // namespace

void AddEvaluate(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand(
      "evaluate", "Race schemes past the length they were trained for");
  command->footer(kExamples);
  auto flags = std::make_shared<EvaluateFlags>();
  AddQuestionFlags(*command, flags->evaluation);
  AddModelFlags(*command, flags->evaluation);
  CLI::Option* out =
      command->add_option("-o,--out", flags->out, "Folder for what is written")
          ->type_name("DIR")
          ->capture_default_str();
  command->add_flag("--no-out", flags->no_out, "Write no files")->excludes(out);
  command
      ->add_option("--from", flags->from,
                   "Draw the report of this manifest; no server is asked")
      ->type_name("FILE");
  command->add_flag("-q,--quiet", flags->quiet, "Show no progress");
  AddCommonFlags(*command, flags->common);
  command->callback(
      [flags, &action] { action = [flags] { return Run(*flags); }; });
}

}  // namespace locus::client
