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
  locus evaluate --task ordering --ask 3,1,4,2   # is it sorted?
  locus evaluate --pattern --train-length 64 --eval-lengths 64,128,256
  locus evaluate --corpus book.txt --train-length 128 --seeds 5 --out book/
  locus evaluate --from book/manifest.json --out again/   # redraws it
  locus evaluate --server one:50051,two:50051 --seeds 8 --out race/

With several servers, each server executes whole runs (one scheme with one
seed). If a server fails, another one repeats its run. The result is the same as
from a single server. Ctrl-C stops the evaluation and prints the finished cells.

An evaluation that ends early has no winner, exits with 1 (130 after Ctrl-C) and
is written to the folder `unfinished` in --out. The report in --out is replaced
only by a complete one.)";

struct EvaluateFlags {
  CommonFlags common{.timeout = "30m"};
  EvaluationFlags evaluation;
  std::string out = "locus-evaluation";
  bool no_out = false;
  bool quiet = false;
  std::string from;
};

// Writes the finished cells of an evaluation that ended without a summary.
absl::Status WriteFinishedCells(const EvaluateFlags& flags,
                                const ReceivedEvaluation& received) {
  if (flags.no_out || received.cells.empty()) return absl::OkStatus();
  const std::string folder = UnfinishedFolder(flags.out);
  CLIENT_RETURN_IF_ERROR(CreateFolder(folder));
  CLIENT_RETURN_IF_ERROR(WriteCells(folder, received.cells));
  if (flags.common.json) return absl::OkStatus();
  return WriteOutput(
      absl::StrCat("\nwrote the finished cells to ", folder, "/cells.csv\n"));
}

// Says which report is in the output folder of an evaluation that ended early.
std::string OtherFiles(const EvaluateFlags& flags,
                       const ReceivedEvaluation& received) {
  if (flags.no_out) return "";
  const std::string earlier = ExistingReport(flags.out);
  return absl::StrCat(
      received.cells.empty() ? "wrote no files\n" : "",
      earlier.empty()
          ? ""
          : absl::StrCat(earlier, " is from an earlier evaluation\n"));
}

// Reports an error after which the command continues.
void Report(const absl::Status& status) {
  if (!status.ok()) WriteError(ErrorLine(status));
}

// Handles an evaluation that ended without a summary: prints and writes the
// finished cells instead of the table.
absl::StatusOr<Outcome> EndEarly(const EvaluateFlags& flags,
                                 const ReceivedEvaluation& received) {
  // With --json, standard output stays empty instead of incomplete.
  if (!flags.common.json && (received.signal != 0 || !received.cells.empty())) {
    Report(WriteOutput(received.cells.empty()
                           ? "no cell was finished\n"
                           : absl::StrCat("UNFINISHED. Finished cells:\n\n",
                                          FormatCells(received.cells))));
  }
  Report(WriteFinishedCells(flags, received));
  if (!flags.common.json && received.signal != 0) {
    Report(WriteOutput(OtherFiles(flags, received)));
  }
  if (received.signal != 0) {
    WriteError("interrupted");
    return Outcome{.exit_code = 128 + received.signal};
  }
  return WithFlagHint(received.status, EvaluationHints());
}

// The evaluation to show.
struct Shown {
  Manifest manifest;
  // The text of the manifest.
  std::string text;
  // Null if there is only a manifest.
  const std::vector<v1::EvaluationCell>* cells = nullptr;
  // Folder for the files.
  std::string folder;
};

absl::Status WriteShown(const EvaluateFlags& flags, const Shown& shown) {
  if (flags.no_out) return absl::OkStatus();
  CLIENT_RETURN_IF_ERROR(CreateFolder(shown.folder));
  CLIENT_ASSIGN_OR_RETURN(
      const int file_count,
      WriteEvaluation(shown.folder, shown.manifest, shown.text, shown.cells));
  if (flags.common.json) return absl::OkStatus();
  const std::string folder =
      absl::StrCat(shown.folder, shown.folder.back() == '/' ? "" : "/");
  return WriteOutput(absl::StrCat("\nwrote ", file_count, " files to ", folder,
                                  "; open ", folder, "report.html\n"));
}

// Prints the table of an evaluation, or with --json its manifest, and then
// writes its files.
absl::Status Show(const EvaluateFlags& flags, const Shown& shown) {
  const std::string text =
      flags.common.json ? shown.text + "\n"
                        : FormatEvaluation(shown.manifest, OutputColumns());
  return PrintThenWrite(text, [&] { return WriteShown(flags, shown); });
}

// Draws the report of the manifest given with --from, without a server.
absl::StatusOr<Outcome> Redraw(const EvaluateFlags& flags) {
  absl::StatusOr<FileReader> reader = FileReader::Open(flags.from);
  if (!reader.ok()) return AsUsage(reader.status(), "--from");
  const absl::StatusOr<std::string> text = reader->Read(kMaxManifestBytes);
  if (!text.ok()) return AsUsage(text.status(), "--from");
  absl::StatusOr<Manifest> manifest = ParseManifest(*text);
  if (!manifest.ok()) {
    return AsUsage(manifest.status(), absl::StrCat("--from: ", flags.from));
  }
  CLIENT_RETURN_IF_ERROR(Show(
      flags,
      {.manifest = *std::move(manifest), .text = *text, .folder = flags.out}));
  return Outcome{};
}

absl::StatusOr<Outcome> Run(const EvaluateFlags& flags) {
  if (!flags.no_out && flags.out.empty()) {
    return UsageError("--out: is empty; name a folder, or use --no-out");
  }
  if (!flags.from.empty()) return Redraw(flags);
  CLIENT_ASSIGN_OR_RETURN(const v1::EvaluateExtrapolationRequest request,
                          MakeEvaluationRequest(flags.evaluation));
  if (!flags.no_out) CLIENT_RETURN_IF_ERROR(PrepareFolder(flags.out));
  CLIENT_ASSIGN_OR_RETURN(ReceivedEvaluation received,
                          CallEvaluation(flags.common, request, flags.quiet));
  if (received.status.ok() && !received.summary.has_value()) {
    received.status = absl::InternalError("the server sent no summary");
  }
  if (!received.status.ok()) return EndEarly(flags, received);
  const std::string& text = received.summary->manifest_json();
  absl::StatusOr<Manifest> manifest = ParseManifest(text);
  if (!manifest.ok()) {
    received.status = absl::InternalError(absl::StrCat(
        "manifest_json of the summary: ", manifest.status().message()));
    return EndEarly(flags, received);
  }
  const bool partial = manifest->summary.partial();
  CLIENT_RETURN_IF_ERROR(Show(
      flags, {.manifest = *std::move(manifest),
              .text = text,
              .cells = &received.cells,
              .folder = partial ? UnfinishedFolder(flags.out) : flags.out}));
  if (!partial) return Outcome{};
  WriteError("the evaluation is partial");
  return Outcome{.exit_code = received.signal != 0 ? 128 + received.signal : 1};
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
  AddSchemesFlag(
      command, flags.schemes,
      "Schemes or config.json files; default: the six best known schemes; for "
      "retrofit: rope and each of its scalings by 2, 4 and 8",
      "Experiment");
  AddConfigsFlag(command, flags.hf_configs, "Experiment");
  add("--train-length", flags.train_length, "N",
      "Training length in tokens; default 32, for ordering 4, with --pattern "
      "64");
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
  add("--ask", flags.questions, "LIST",
      "Ask the trained models whether a sequence such as 3,1,4,2 is sorted, "
      "with values from 0 to 7; for ordering; may be repeated")
      ->allow_extra_args(false);
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
