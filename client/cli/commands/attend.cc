#include <memory>

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"
#include "client/cli/requests/attend_request.h"
#include "client/cli/commands/command.h"
#include "client/cli/render/json.h"
#include "client/cli/support/terminal.h"
#include "client/cli/requests/scheme_text.h"
#include "client/cli/requests/seed_flag.h"
#include "client/cli/support/session.h"
#include "client/cli/render/table.h"
#include "client/cli/support/cli_errors.h"
#include "client/base/status_macros.h"
#include "locus/client/tensor.h"
#include "nlohmann/json.hpp"

namespace locus::client {
namespace {

using Json = nlohmann::ordered_json;

constexpr char kExamples[] = R"(Examples:
  locus attend --scheme rope --tokens "the cat sat on the mat" --causal
  locus attend --scheme 'alibi { symmetric: true }' --heads 2 --tokens "to be or not to be"
  locus attend --scheme rope --q q.npy --k k.npy --v v.npy --causal -o out.npy
  locus attend --scheme sinusoidal --x x.npy --heads 4 --weights-from layer0/

Tensors of rank 2 or 3 are taken as one head or one batch.)";

struct Flags {
  CommonFlags common;
  AttendFlags attend;
  std::string output;
  std::string weights_out;
  std::string log_sum_exp_out;
};

FlagHints Hints() {
  return {{"scheme", "--scheme"},
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
}

int OutputsToStdout(const Flags& flags) {
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
  // With words on both axes a row reads: this word looks at those.
  if (!tokens.empty()) {
    table.row_label = word;
    table.column_label = word;
    table.table_label = [](int64_t head) {
      return absl::StrCat("head ", head);
    };
  }
  if (response.has_weights()) add("attention", response.weights());
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

absl::Status WriteFiles(const Flags& flags,
                        const v1::AttendResponse& response) {
  if (!flags.output.empty()) {
    CLIENT_RETURN_IF_ERROR(WriteTensor(flags.output, response.output()));
  }
  if (!flags.weights_out.empty()) {
    CLIENT_RETURN_IF_ERROR(WriteTensor(flags.weights_out, response.weights()));
  }
  if (!flags.log_sum_exp_out.empty()) {
    return WriteTensor(flags.log_sum_exp_out, response.log_sum_exp());
  }
  return absl::OkStatus();
}

absl::StatusOr<Outcome> Run(const Flags& flags) {
  if (OutputsToStdout(flags) > 1) {
    return UsageError("only one output, or --json, can have standard output");
  }
  AttendFlags attend = flags.attend;
  attend.return_weights |= !flags.weights_out.empty() || !attend.tokens.empty();
  attend.return_log_sum_exp |= !flags.log_sum_exp_out.empty();
  CLIENT_ASSIGN_OR_RETURN(const AttendPlan plan, MakeAttendPlan(attend));
  CLIENT_ASSIGN_OR_RETURN(const Session session, OpenSession(flags.common));
  CallInfo info;
  absl::StatusOr<v1::AttendResponse> response =
      session.client->Attend(plan.request, {.info = &info});
  if (!response.ok()) return WithFlagHint(response.status(), Hints());
  CLIENT_RETURN_IF_ERROR(CheckResponse(*response));
  RemoveAddedAxes(plan.added_axes, response->mutable_output());
  if (response->has_weights()) {
    RemoveAddedAxes(plan.added_axes, response->mutable_weights());
  }
  if (response->has_log_sum_exp()) {
    RemoveAddedAxes(plan.added_axes, response->mutable_log_sum_exp());
  }
  CLIENT_RETURN_IF_ERROR(WriteFiles(flags, *response));
  if (flags.common.json) {
    return Outcome{.text = FormatJson(plan.request, *response, info)};
  }
  if (OutputsToStdout(flags) > 0) return Outcome{};
  return Outcome{.text = FormatText(plan.request, *response)};
}

void AddInputFlags(CLI::App& command, AttendFlags& flags) {
  const auto add = [&command](const char* name, auto& target, const char* type,
                              const char* description) {
    command.add_option(name, target, description)
        ->type_name(type)
        ->group("Input");
  };
  add("--q", flags.q, "NPY", "Queries, [B, Hq, Tq, D]");
  add("--k", flags.k, "NPY", "Keys, [B, Hkv, Tk, D]");
  add("--v", flags.v, "NPY", "Values, [B, Hkv, Tk, Dv]");
  add("-x,--x", flags.x, "NPY", "Embeddings [B, T, d_model], instead");
  add("-t,--tokens", flags.tokens, "WORDS", "Words, instead of tensors");
  add("--heads", flags.head_count, "N", "Heads of the layer; default 1");
  add("-d,--dim", flags.dim, "N", "Width of the words' embeddings; default 64");
  AddSeedFlag(command, flags.seed, "Draws the layer's weights; default 0",
              "Input");
  add("--weights-from", flags.weights_from, "DIR",
      "The layer's weights: wq.npy, wk.npy, wv.npy, wo.npy");
  add("--wq", flags.wq, "NPY", "Its query weights, [d_model, d_model]");
  add("--wk", flags.wk, "NPY", "Its key weights");
  add("--wv", flags.wv, "NPY", "Its value weights");
  add("--wo", flags.wo, "NPY", "Its output weights");
  add("--dtype", flags.dtype, "TYPE",
      "Convert tensors first: float32, float64, float16, bfloat16");
}

void AddAttentionFlags(CLI::App& command, AttendFlags& flags) {
  const auto add = [&command](const char* name, auto& target, const char* type,
                              const char* description) {
    command.add_option(name, target, description)
        ->type_name(type)
        ->group("Attention");
  };
  command.add_flag("--causal", flags.causal, "Hide keys after the query")
      ->group("Attention");
  CLI::Option* bottom_right =
      command
          .add_flag("--bottom-right", flags.bottom_right,
                    "The last query stands at the last key")
          ->group("Attention");
  add("--query-offset", flags.query_offset, "N",
      "Where the first query stands");
  bottom_right->excludes("--query-offset");
  add("--window", flags.window, "N", "Hide keys at this distance or further");
  add("--scale", flags.scale, "X", "Instead of 1 / sqrt(D)");
  add("--softcap", flags.softcap, "X", "Cap scores: X tanh(score / X)");
  add("--mask", flags.mask, "NPY", "Bool (true: visible) or added to scores");
  add("--query-positions", flags.query_positions, "LIST",
      "What the scheme sees: 0:16, 0,5,9 or @ids.npy");
  add("--key-positions", flags.key_positions, "LIST", "The same of the keys");
}

void AddOutputFlags(CLI::App& command, Flags& flags) {
  command.add_flag("--return-weights", flags.attend.return_weights,
                   "Show the softmax, too");
  const auto add = [&command](const char* name, std::string& target,
                              const char* description) {
    command.add_option(name, target, description)->type_name("NPY");
  };
  add("-o,--output", flags.output, "Write the output; - is standard output");
  add("--weights-out", flags.weights_out, "Write the softmax, [B, Hq, Tq, Tk]");
  add("--lse-out", flags.log_sum_exp_out,
      "Write ln sum exp of the scores, [B, Hq, Tq]");
}

}  // namespace

void AddAttend(CLI::App& app, Action& action) {
  CLI::App* command =
      app.add_subcommand("attend", "Run attention with a scheme");
  command->footer(kExamples);
  auto flags = std::make_shared<Flags>();
  AddSchemeFlags(*command, flags->attend.scheme);
  AddInputFlags(*command, flags->attend);
  AddAttentionFlags(*command, flags->attend);
  AddOutputFlags(*command, *flags);
  AddCommonFlags(*command, flags->common);
  command->callback(
      [flags, &action] { action = [flags] { return Run(*flags); }; });
}

}  // namespace locus::client
