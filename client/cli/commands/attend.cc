#include <memory>

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"
#include "client/base/status_macros.h"
#include "client/cli/commands/call_output.h"
#include "client/cli/commands/command.h"
#include "client/cli/commands/permute_call.h"
#include "client/cli/render/attention_map.h"
#include "client/cli/render/json.h"
#include "client/cli/render/table.h"
#include "client/cli/requests/attend_request.h"
#include "client/cli/requests/scheme_text.h"
#include "client/cli/requests/seed_flag.h"
#include "client/cli/support/cli_errors.h"
#include "client/cli/support/option_group.h"
#include "client/cli/support/session.h"
#include "client/cli/support/terminal.h"
#include "locus/client/tensor.h"
#include "nlohmann/json.hpp"

namespace locus::client {
namespace {

using Json = nlohmann::ordered_json;

constexpr char kAttendExamples[] = R"(Examples:
  locus attend rope --tokens "the cat sat on the mat" --causal
  locus attend alibi --heads 2 --tokens "to be or not to be"
  locus attend rope --q q.npy --k k.npy --v v.npy --causal -o out.npy
  locus attend sinusoidal --x x.npy --heads 4 --weights-from layer0/

The batch and head axes may be left out: [H, T, D] or [T, D] for --q, --k and
--v, and [T, d_model] for --x. Outputs then have the same rank. Biases such as
alibi act on both sides of a query unless --causal is given.)";

// The flags of the request, and the output files.
struct AttendCommandFlags {
  CommonFlags common;
  AttendFlags attend;
  std::string output;
  std::string weights_out;
  std::string log_sum_exp_out;
  // Order of the tokens in a second call, such as "2,0,1".
  std::string permute;
};

FlagHints AttendHints(const v1::Scheme& scheme) {
  FlagHints hints = SchemeHints(scheme);
  const FlagHints others = {
      {"heads.q", "--q"},
      {"heads.k", "--k"},
      {"heads.v", "--v"},
      {"module.x", "--x"},
      {"module.tokens", "--tokens"},
      {"module.weights", "--weights-from or --wq, --wk, --wv, --wo"},
      {"module.head_count", "--heads"},
      {"module.dim", "--dim"},
      {"options.causal", "--causal"},
      {"options.query_offset", "--query-offset"},
      {"options.bottom_right", "--bottom-right"},
      {"options.window", "--window"},
      {"options.scale", "--scale"},
      {"options.softcap", "--softcap"},
      {"options.mask", "--mask"},
      {"options.query_positions", "--query-positions"},
      {"options.key_positions", "--key-positions"}};
  hints.insert(hints.end(), others.begin(), others.end());
  return hints;
}

// The number of outputs that are written to standard output.
int OutputsToStdout(const AttendCommandFlags& flags) {
  return static_cast<int>(flags.output == "-") +
         static_cast<int>(flags.weights_out == "-") +
         static_cast<int>(flags.log_sum_exp_out == "-") +
         static_cast<int>(flags.common.json);
}

std::string FormatText(const v1::AttendRequest& request,
                       const v1::AttendResponse& response) {
  const auto& tokens = request.module().tokens();
  const auto word = [&tokens](int64_t i) {
    return i < tokens.size() ? tokens[static_cast<int>(i)] : absl::StrCat(i);
  };
  TensorTable table{.width = OutputColumns()};
  std::string text;
  const auto add = [&](const char* title, const v1::Tensor& tensor) {
    table.title = title;
    absl::StrAppend(&text, text.empty() ? "" : "\n",
                    FormatTensor(table, tensor));
  };
  // Tokens label both axes, so that a row reads: this token attends to those.
  if (!tokens.empty()) {
    table.row_label = word;
    table.column_label = word;
    table.table_label = [](int64_t head) {
      return absl::StrCat("head ", head);
    };
  }
  if (response.has_weights()) {
    table.title = "attention";
    text = FormatAttentionMap(table, response.weights());
  }
  table.column_label = nullptr;
  add("output", response.output());
  table.row_label = nullptr;
  table.table_label = nullptr;
  if (response.has_log_sum_exp()) add("log sum exp", response.log_sum_exp());
  return text;
}

std::string FormatJson(const v1::AttendRequest& request,
                       const v1::AttendResponse& response,
                       const CallInfo& info) {
  Json json = {{"scheme", SchemeName(request.scheme())}};
  if (request.module().tokens_size() > 0) {
    json["tokens"] = request.module().tokens();
  }
  json["output"] = TensorJson(response.output());
  if (response.has_weights()) json["weights"] = TensorJson(response.weights());
  if (response.has_log_sum_exp()) {
    json["log_sum_exp"] = TensorJson(response.log_sum_exp());
  }
  json["call"] = CallJson(info);
  return JsonLine(json);
}

absl::Status CheckResponse(const v1::AttendResponse& response) {
  CLIENT_RETURN_IF_ERROR(CheckTensor(response.output()));
  if (response.has_weights()) {
    CLIENT_RETURN_IF_ERROR(CheckTensor(response.weights()));
  }
  if (response.has_log_sum_exp()) {
    CLIENT_RETURN_IF_ERROR(CheckTensor(response.log_sum_exp()));
  }
  return absl::OkStatus();
}

absl::Status WriteFiles(const AttendCommandFlags& flags,
                        const v1::AttendResponse& response) {
  std::vector<TensorFile> files;
  if (!flags.output.empty())
    files.push_back({flags.output, &response.output()});
  if (!flags.weights_out.empty()) {
    files.push_back({flags.weights_out, &response.weights()});
  }
  if (!flags.log_sum_exp_out.empty()) {
    files.push_back({flags.log_sum_exp_out, &response.log_sum_exp()});
  }
  return WriteTensors(files);
}

absl::StatusOr<Outcome> Run(const AttendCommandFlags& flags) {
  if (OutputsToStdout(flags) > 1) {
    return UsageError(
        "only one of the outputs and --json can use standard output");
  }
  AttendFlags attend = flags.attend;
  attend.return_weights |= !flags.weights_out.empty() || !attend.tokens.empty();
  attend.return_log_sum_exp |= !flags.log_sum_exp_out.empty();
  CLIENT_ASSIGN_OR_RETURN(const AttendPlan plan, MakeAttendPlan(attend));
  CLIENT_ASSIGN_OR_RETURN(const Session session, OpenSession(flags.common));
  if (!flags.permute.empty()) {
    if (!flags.output.empty() || !flags.weights_out.empty() ||
        !flags.log_sum_exp_out.empty()) {
      return UsageError("--permute writes no files");
    }
    absl::StatusOr<std::string> text = AttendWithPermutation(
        *session.client, plan.request, flags.permute, flags.common.json);
    if (!text.ok()) {
      return WithFlagHint(text.status(), AttendHints(plan.request.scheme()));
    }
    return Outcome{.text = *std::move(text)};
  }
  CallInfo info;
  absl::StatusOr<v1::AttendResponse> response =
      session.client->Attend(plan.request, {.info = &info});
  if (!response.ok())
    return WithFlagHint(response.status(), AttendHints(plan.request.scheme()));
  CLIENT_RETURN_IF_ERROR(CheckResponse(*response));
  RemoveAddedAxes(plan.added_axes, response->mutable_output());
  if (response->has_weights()) {
    RemoveAddedAxes(plan.added_axes, response->mutable_weights());
  }
  if (response->has_log_sum_exp()) {
    RemoveAddedAxes(plan.added_axes, response->mutable_log_sum_exp());
  }
  std::string text;
  if (flags.common.json) {
    text = FormatJson(plan.request, *response, info);
  } else if (OutputsToStdout(flags) == 0) {
    text = WithSizes(plan.request.scheme(), plan.sizes_note,
                     FormatText(plan.request, *response));
  }
  CLIENT_RETURN_IF_ERROR(
      PrintThenWrite(text, [&] { return WriteFiles(flags, *response); }));
  ReportWritten({flags.output, flags.weights_out, flags.log_sum_exp_out});
  return Outcome{};
}

void AddInputFlags(CLI::App& command, AttendFlags& flags) {
  const auto add = OptionGroup(command, "Input");
  add("--q", flags.q, "NPY", "Queries [B, Hq, Tq, D]");
  add("--k", flags.k, "NPY", "Keys [B, Hkv, Tk, D]");
  add("--v", flags.v, "NPY", "Values [B, Hkv, Tk, Dv]");
  add("-x,--x", flags.x, "NPY",
      "Embeddings [B, T, d_model], instead of --q, --k and --v");
  add("-t,--tokens", flags.tokens, "WORDS",
      "Words separated by spaces, instead of tensors");
  add("--heads", flags.head_count, "N",
      "Number of heads of the layer; default 1, or those of the configuration");
  add("-d,--dim", flags.dim, "N",
      "Width of the token embeddings; default 64, or that of the "
      "configuration");
  AddSeedFlag(command, flags.seed,
              "Seed of the random layer weights; default 0", "Input");
  add("--weights-from", flags.weights_from, "DIR",
      "Folder with the layer weights wq.npy, wk.npy, wv.npy and wo.npy");
  add("--wq", flags.wq, "NPY", "Query weights [d_model, d_model]");
  add("--wk", flags.wk, "NPY", "Key weights");
  add("--wv", flags.wv, "NPY", "Value weights");
  add("--wo", flags.wo, "NPY", "Output weights");
  add("--dtype", flags.dtype, "TYPE",
      "Convert tensors to float32, float64, float16 or bfloat16 first");
}

void AddAttentionFlags(CLI::App& command, AttendFlags& flags) {
  const auto add = OptionGroup(command, "Attention");
  command.add_flag("--causal", flags.causal, "Hide keys after the query")
      ->group("Attention");
  CLI::Option* bottom_right =
      command
          .add_flag("--bottom-right", flags.bottom_right,
                    "Align the last query with the last key")
          ->group("Attention");
  add("--query-offset", flags.query_offset, "N",
      "Position of the first query relative to the first key");
  bottom_right->excludes("--query-offset");
  add("--window", flags.window, "N", "Hide keys at a distance of N or more");
  add("--scale", flags.scale, "X", "Scale of the scores; default 1 / sqrt(D)");
  add("--softcap", flags.softcap, "X", "Cap scores at X: X tanh(score / X)");
  add("--mask", flags.mask, "NPY",
      "Mask: bool (true is visible), or floats added to the scores");
  add("--query-positions", flags.query_positions, "LIST",
      "Query positions for the scheme: 0:16, 0,5,9 or @ids.npy");
  add("--key-positions", flags.key_positions, "LIST",
      "Key positions for the scheme");
}

void AddOutputFlags(CLI::App& command, AttendCommandFlags& flags) {
  command.add_flag("--return-weights", flags.attend.return_weights,
                   "Also print the attention weights");
  const auto add = [&command](const char* name, std::string& target,
                              const char* description) {
    command.add_option(name, target, description)->type_name("NPY");
  };
  command
      .add_option("--permute", flags.permute,
                  "Also attend to the tokens in this order, such as 2,0,1, and "
                  "compare the outputs")
      ->type_name("LIST");
  add("-o,--out,--output", flags.output,
      "File for the output; - is standard output");
  add("--weights-out", flags.weights_out,
      "File for the attention weights [B, Hq, Tq, Tk]");
  add("--lse-out", flags.log_sum_exp_out,
      "File for the log-sum-exp of the scores [B, Hq, Tq]");
}

}  // namespace

void AddAttend(CLI::App& app, Action& action) {
  CLI::App* command =
      app.add_subcommand("attend", "Compute attention with a position scheme");
  command->footer(kAttendExamples);
  auto flags = std::make_shared<AttendCommandFlags>();
  AddSchemeFlags(*command, flags->attend.scheme);
  AddInputFlags(*command, flags->attend);
  AddAttentionFlags(*command, flags->attend);
  AddOutputFlags(*command, *flags);
  AddCommonFlags(*command, flags->common);
  command->callback(
      [flags, &action] { action = [flags] { return Run(*flags); }; });
}

}  // namespace locus::client
