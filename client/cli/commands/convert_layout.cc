// `locus convert-layout`. The two layouts of RoPE differ by a permutation of
// the channels of a head. If the projection weights of queries and keys are
// both permuted, the other layout gives the same scores.
#include <cstdint>
#include <memory>
#include <utility>

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"
#include "client/base/status_macros.h"
#include "client/cli/commands/command.h"
#include "client/cli/requests/layout.h"
#include "client/cli/support/cli_errors.h"
#include "client/cli/support/terminal.h"
#include "locus/client/npy.h"

namespace locus::client {
namespace {

constexpr char kConvertLayoutExamples[] = R"(Examples:
  locus convert-layout --to half-split --heads 32 wq.npy wq.half.npy
  locus convert-layout --to interleaved --heads 8 --rotary-dim 64 wk.npy out.npy
  locus convert-layout --to half-split --heads 32 --axis 1 wq_in_out.npy out.npy

Convert the projection weights of queries and of keys; for keys, --heads is the
number of key-value heads. Value and output weights need no conversion.)";

struct ConvertFlags {
  std::string input;
  std::string output;
  std::string to;
  LayoutChange change;
};

absl::StatusOr<Outcome> Run(ConvertFlags flags) {
  if (flags.to == "half-split") {
    flags.change.to_half_split = true;
  } else if (flags.to != "interleaved") {
    return UsageError(absl::StrCat("--to is \"", flags.to,
                                   "\"; must be half-split or interleaved"));
  }
  // The .npy type of integer elements, so that the output keeps it.
  std::string integer_type;
  absl::StatusOr<v1::Tensor> tensor = ReadNpy(flags.input, &integer_type);
  if (!tensor.ok()) return AsUsage(tensor.status(), "");
  CLIENT_RETURN_IF_ERROR(AsUsage(ChangeLayout(flags.change, &*tensor), ""));
  CLIENT_RETURN_IF_ERROR(WriteTensor(flags.output, *tensor, integer_type));
  if (flags.output == "-") return Outcome{};
  return Outcome{.text = absl::StrCat("wrote ", flags.output, "\n")};
}

}  // namespace

void AddConvertLayout(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand(
      "convert-layout",
      "Convert query or key weights between the two RoPE layouts");
  command->footer(kConvertLayoutExamples);
  auto flags = std::make_shared<ConvertFlags>();
  command
      ->add_option("input", flags->input,
                   "File with the weights; - is standard input")
      ->type_name("NPY")
      ->required();
  command
      ->add_option("output", flags->output,
                   "File for the converted weights; - is standard output")
      ->type_name("NPY")
      ->required();
  command
      ->add_option("--to", flags->to,
                   "Target layout: half-split or interleaved")
      ->type_name("LAYOUT")
      ->required();
  command
      ->add_option("--heads", flags->change.head_count,
                   "Number of heads along the axis")
      ->type_name("N")
      ->required();
  command
      ->add_option("--rotary-dim", flags->change.rotary_dim,
                   "Number of rotated channels per head; default: all")
      ->type_name("N");
  command
      ->add_option("--axis", flags->change.axis,
                   "Axis of the channels; negative counts from the last; "
                   "default 0, as in [out, in]")
      ->type_name("N");
  command->callback(
      [flags, &action] { action = [flags] { return Run(*flags); }; });
}

}  // namespace locus::client
