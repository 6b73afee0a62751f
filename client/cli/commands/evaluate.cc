#include <memory>

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/base/status_macros.h"
#include "client/cli/commands/command.h"
#include "client/cli/commands/evaluate_call.h"
#include "client/cli/render/evaluation_files.h"
#include "client/cli/render/evaluation_table.h"
#include "client/cli/requests/evaluate_request.h"
#include "client/cli/requests/scheme_flags.h"
#include "client/cli/requests/seed_flag.h"
#include "client/cli/support/cli_errors.h"
#include "client/cli/support/option_group.h"
#include "client/cli/support/session.h"
#include "client/cli/support/terminal.h"
#include "client/io/file.h"
#include "client/report/manifest.h"

namespace locus::client {
namespace {

constexpr char kEvaluateExamples[] =
    R"(Trains a small transformer for every scheme and seed at one length and tests it
at other lengths; --pattern measures one untrained attention layer instead.
Writes report.html, manifest.json, cells.csv and charts to a folder.

Examples:
  locus evaluate --task copy --scheme rope --scheme alibi --steps 300
  locus evaluate --pattern --train-length 64 --eval-lengths 64,128,256
  locus evaluate --corpus book.txt --train-length 128 --seeds 5 --out book/
  locus evaluate --from book/manifest.json --out again/   # redraws it
  locus evaluate --server one:50051,two:50051 --seeds 8 --out race/

With several servers, each server executes whole runs (one scheme with one
seed). If a server fails, another one repeats its run. The result is the same as
from a single server. Ctrl-C stops the evaluation and prints the finished cells.)";

struct EvaluateFlags {
  CommonFlags common{.timeout = "30m"};
  EvaluationFlags evaluation;
  std::string out = "locus-evaluation";
  bool no_out = false;
  bool quiet = false;
  std::string from;
};

// Handles an evaluation that ended without a summary: writes and prints the
// finished cells instead of the table.
absl::StatusOr<Outcome> EndEarly(const EvaluateFlags& flags,
                                 const ReceivedEvaluation& received) {
  if (!flags.no_out && !received.cells.empty()) {
    CLIENT_RETURN_IF_ERROR(RemoveEarlierEvaluation(flags.out, ""));
    CLIENT_RETURN_IF_ERROR(WriteCells(flags.out, received.cells));
  }
  if (received.signal != 0) WriteError("interrupted");
  const std::string finished =
      received.cells.empty() ? "no cell was finished\n"
                             : absl::StrCat("UNFINISHED. Finished cells:\n\n",
                                            FormatCells(received.cells));
  // With --json, standard output stays empty instead of incomplete.
  const bool show =
      !flags.common.json && (received.signal != 0 || !received.cells.empty());
  if (received.signal != 0) {
    return Outcome{.text = show ? finished : "",
                   .exit_code = 128 + received.signal};
  }
  if (show) CLIENT_RETURN_IF_ERROR(WriteOutput(finished));
  return WithFlagHint(received.status, EvaluationHints());
}

// Writes the files of an evaluation and returns its table, or with --json its
// manifest.
absl::StatusOr<Outcome> Show(const EvaluateFlags& flags,
                             const std::string& manifest_text,
                             const std::vector<v1::EvaluationCell>& cells) {
  CLIENT_ASSIGN_OR_RETURN(const Manifest manifest,
                          ParseManifest(manifest_text));
  int file_count = 0;
  if (!flags.no_out) {
    CLIENT_ASSIGN_OR_RETURN(
        file_count, WriteEvaluation(flags.out, manifest, manifest_text, cells));
    // Run() has written cells.csv.
    if (flags.from.empty()) ++file_count;
  }
  if (flags.common.json) return Outcome{.text = manifest_text + "\n"};
  std::string text = FormatEvaluation(manifest, OutputColumns());
  if (!flags.no_out) {
    const std::string folder =
        absl::StrCat(flags.out, flags.out.back() == '/' ? "" : "/");
    absl::StrAppend(&text, "\nwrote ", file_count, " files to ", folder,
                    "; open ", folder, "report.html\n");
  }
  return Outcome{.text = std::move(text)};
}

// Draws the report of the manifest given with --from, without a server.
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
    return UsageError("--out: is empty; name a folder, or use --no-out");
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

void AddExperimentFlags(CLI::App& command, EvaluationFlags& flags) {
  const auto add = OptionGroup(command, "Experiment");
  add("--task", flags.task, "TASK",
      absl::StrCat("Task to train: ", absl::StrJoin(EvaluationTasks(), ", "),
                   "; default text"));
  command
      .add_flag("--pattern", flags.pattern,
                "Measure one untrained attention layer instead")
      ->group("Experiment");
  add("-s,--scheme", flags.schemes, "SCHEME",
      "As in `locus encode`; may be repeated; default: the six best known "
      "schemes; for retrofit: rope and each of its scalings by 2, 4 and 8")
      ->allow_extra_args(false);
  AddConfigsFlag(command, flags.hf_configs, "Experiment");
  add("--train-length", flags.train_length, "N",
      "Training length in tokens; default 32, with --pattern 64");
  add("--eval-lengths", flags.eval_lengths, "LIST",
      "Test lengths in tokens, such as 64,128,256; default: multiples of the "
      "training length")
      ->delimiter(',')
      ->allow_extra_args(false);
  AddSeedFlag(command, flags.seed, "First seed; default 0", "Experiment");
  add("--seeds", flags.seed_count, "N",
      "Number of seeds; default 3, with --pattern 1");
  add("--corpus", flags.corpus, "FILE",
      "Text to train on, at most 4 MiB, for text and retrofit");
}

void AddModelFlags(CLI::App& command, EvaluationFlags& flags) {
  const auto add = OptionGroup(command, "Model");
  add("-d,--dim", flags.dim, "N",
      "Width of the model; default 64, with --pattern 32");
  add("--layers", flags.layer_count, "N", "Number of layers; default 2");
  add("--heads", flags.head_count, "N",
      "Number of heads; default 4, with --pattern 2");
  add("--feed-forward", flags.feed_forward_dim, "N",
      "Width of the feed-forward layers; default 4 times --dim");
  CLI::Option* causal =
      command.add_flag("--causal", flags.causal, "Hide keys after the query")
          ->group("Model");
  command
      .add_flag("--bidirectional", flags.bidirectional,
                "Let all tokens attend to each other; default: by task")
      ->group("Model")
      ->excludes(causal);
  add("--steps", flags.step_count, "N",
      "Number of training steps; default: by task");
  add("--batch", flags.batch_size, "N",
      "Sequences per training step; default 32");
  add("--learning-rate", flags.learning_rate, "X",
      "Learning rate; default 0.002");
}

}  // namespace

void AddEvaluate(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand(
      "evaluate", "Compare schemes past the length they were trained for");
  command->footer(kEvaluateExamples);
  auto flags = std::make_shared<EvaluateFlags>();
  AddExperimentFlags(*command, flags->evaluation);
  AddModelFlags(*command, flags->evaluation);
  CLI::Option* out =
      command->add_option("-o,--out", flags->out, "Output folder")
          ->type_name("DIR")
          ->capture_default_str();
  command->add_flag("--no-out", flags->no_out, "Write no files")->excludes(out);
  command
      ->add_option("--from", flags->from,
                   "Redraw the report of a manifest.json, without a server")
      ->type_name("FILE");
  command->add_flag("-q,--quiet", flags->quiet, "Show no progress");
  AddCommonFlags(*command, flags->common);
  command->callback(
      [flags, &action] { action = [flags] { return Run(*flags); }; });
}

}  // namespace locus::client
