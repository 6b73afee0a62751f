// The two layouts of RoPE differ by a permutation of a head's channels. Weights
// that make queries and keys can be permuted once, and scores stay the same.
#include <cstdint>
#include <memory>
#include <utility>

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"
#include "client/cli/commands/command.h"
#include "client/cli/requests/layout.h"
#include "client/cli/support/terminal.h"
#include "client/cli/support/cli_errors.h"
#include "locus/client/npy.h"
#include "client/base/status_macros.h"

namespace locus::client {
namespace {

constexpr char kExamples[] = R"(Examples:
  locus convert-layout --to half-split --heads 32 wq.npy wq.half.npy
  locus convert-layout --to interleaved --heads 8 --rotary-dim 64 wk.npy out.npy
  locus convert-layout --to half-split --heads 32 --axis 1 wq_in_out.npy out.npy

Weights of keys have as many heads as there are keys' heads. Those of values
and outputs stay as they are.)";

struct ConvertFlags {
  std::string input;
  std::string output;
  std::string to;
  LayoutChange change;
};

absl::StatusOr<Outcome> Run(ConvertFlags flags) {
  if (flags.to == "half-split") {
    flags.change.to_halves = true;
  } else if (flags.to != "interleaved") {
    return UsageError(absl::StrCat("--to is \"", flags.to,
                                   "\"; must be half-split or interleaved"));
  }
  std::string integers;  // of which type, if they are such
  absl::StatusOr<v1::Tensor> tensor = ReadNpy(flags.input, &integers);
  if (!tensor.ok()) return AsUsage(tensor.status(), "");
  CLIENT_RETURN_IF_ERROR(AsUsage(ChangeLayout(flags.change, &*tensor), ""));
  CLIENT_RETURN_IF_ERROR(WriteTensor(flags.output, *tensor, integers));
  if (flags.output == "-") return Outcome{};
  return Outcome{.text = absl::StrCat("wrote ", flags.output, "\n")};
}

}  // namespace

void AddConvertLayout(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand(
      "convert-layout",
      "Permute weights of queries or keys between RoPE's two layouts");
  command->footer(kExamples);
  auto flags = std::make_shared<ConvertFlags>();
  command->add_option("input", flags->input, "Weights; - is standard input")
      ->type_name("NPY")
      ->required();
  command->add_option("output", flags->output, "- is standard output")
      ->type_name("NPY")
      ->required();
  command->add_option("--to", flags->to, "half-split, or interleaved")
      ->type_name("LAYOUT")
      ->required();
  command
      ->add_option("--heads", flags->change.head_count,
                   "How many heads the channels are of")
      ->type_name("N")
      ->required();
  command
      ->add_option("--rotary-dim", flags->change.rotary_dim,
                   "How many channels of a head turn; default: all")
      ->type_name("N");
  command
      ->add_option("--axis", flags->change.axis,
                   "Which axis the channels lie along, -1 for the last; "
                   "default 0, as in [out, in]")
      ->type_name("N");
  command->callback(
      [flags, &action] { action = [flags] { return Run(*flags); }; });
}

}  // namespace locus::client
