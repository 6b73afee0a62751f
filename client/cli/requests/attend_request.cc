#include "client/cli/requests/attend_request.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "client/base/status_macros.h"
#include "client/cli/requests/float_type.h"
#include "client/cli/requests/positions.h"
#include "client/cli/requests/scheme_sizes.h"
#include "client/cli/requests/scheme_text.h"
#include "client/cli/support/cli_errors.h"
#include "locus/client/npy.h"
#include "locus/client/tensor.h"
#include "server/base/utf8.h"

namespace locus::client {
namespace {

absl::Status ReadTensor(const std::string& flag, const std::string& path,
                        v1::Tensor* tensor) {
  absl::StatusOr<v1::Tensor> read = ReadNpy(path);
  if (!read.ok()) return AsUsage(read.status(), flag);
  *tensor = *std::move(read);
  return absl::OkStatus();
}

// Reads an operand of the computation and converts it to --dtype.
absl::Status ReadOperand(const std::string& flag, const std::string& path,
                         const std::string& dtype, v1::Tensor* tensor) {
  CLIENT_RETURN_IF_ERROR(ReadTensor(flag, path, tensor));
  if (dtype.empty()) return absl::OkStatus();
  CLIENT_ASSIGN_OR_RETURN(const v1::DataType type, ParseFloatType(dtype));
  absl::StatusOr<v1::Tensor> converted = Convert(*tensor, type);
  if (!converted.ok()) return AsUsage(converted.status(), "--dtype");
  *tensor = *std::move(converted);
  return absl::OkStatus();
}

void AddAxes(int count, v1::Tensor* tensor) {
  std::vector<int64_t> shape(count, 1);
  shape.insert(shape.end(), tensor->shape().begin(), tensor->shape().end());
  tensor->mutable_shape()->Assign(shape.begin(), shape.end());
}

absl::Status CheckCombination(const AttendFlags& flags) {
  const bool some_heads =
      !flags.q.empty() || !flags.k.empty() || !flags.v.empty();
  const bool all_heads =
      !flags.q.empty() && !flags.k.empty() && !flags.v.empty();
  const int inputs = static_cast<int>(some_heads) +
                     static_cast<int>(!flags.x.empty()) +
                     static_cast<int>(!flags.tokens.empty());
  const int weights = static_cast<int>(!flags.wq.empty()) +
                      static_cast<int>(!flags.wk.empty()) +
                      static_cast<int>(!flags.wv.empty()) +
                      static_cast<int>(!flags.wo.empty());
  const bool has_weights = weights > 0 || !flags.weights_from.empty();
  if (inputs != 1) {
    return UsageError(
        "give either --q, --k and --v, or --x, or --tokens \"some words\"");
  }
  if (some_heads && !all_heads) {
    return UsageError("--q, --k and --v go together");
  }
  if (some_heads &&
      (has_weights || flags.head_count.has_value() || flags.seed.has_value())) {
    return UsageError(
        "--heads, --seed and weights need --x or --tokens; with --q, --k and "
        "--v the tensors determine the heads");
  }
  if (flags.tokens.empty() && flags.dim.has_value()) {
    return UsageError("--dim needs --tokens; tensors have their own width");
  }
  if (weights > 0 && (weights < 4 || !flags.weights_from.empty())) {
    return UsageError(
        "give all of --wq, --wk, --wv and --wo, or --weights-from");
  }
  if (has_weights && flags.seed.has_value()) {
    return UsageError("give either weights or --seed");
  }
  if (!flags.tokens.empty() && !flags.dtype.empty()) {
    return UsageError(
        "--dtype converts tensors and does not apply to --tokens");
  }
  return absl::OkStatus();
}

absl::Status AddHeads(const AttendFlags& flags, AttendPlan* plan) {
  v1::AttentionHeads& heads = *plan->request.mutable_heads();
  CLIENT_RETURN_IF_ERROR(
      ReadOperand("--q", flags.q, flags.dtype, heads.mutable_q()));
  CLIENT_RETURN_IF_ERROR(
      ReadOperand("--k", flags.k, flags.dtype, heads.mutable_k()));
  CLIENT_RETURN_IF_ERROR(
      ReadOperand("--v", flags.v, flags.dtype, heads.mutable_v()));
  const int rank = heads.q().shape_size();
  if (rank < 2 || rank > 4 || heads.k().shape_size() != rank ||
      heads.v().shape_size() != rank) {
    return UsageError(
        absl::StrCat("--q ", ShapeName(heads.q()), ", --k ",
                     ShapeName(heads.k()), ", --v ", ShapeName(heads.v()),
                     ": all three must be [T, D], [H, T, D] or [B, H, T, D]"));
  }
  plan->added_axes = 4 - rank;
  AddAxes(plan->added_axes, heads.mutable_q());
  AddAxes(plan->added_axes, heads.mutable_k());
  AddAxes(plan->added_axes, heads.mutable_v());
  return absl::OkStatus();
}

absl::Status AddWeights(const AttendFlags& flags, v1::AttentionModule* module) {
  if (flags.seed.has_value()) module->set_seed(*flags.seed);
  const std::string& folder = flags.weights_from;
  if (folder.empty() && flags.wq.empty()) return absl::OkStatus();
  v1::ModuleWeights& weights = *module->mutable_weights();
  const auto read = [&](const std::string& name, const std::string& path,
                        v1::Tensor* tensor) {
    if (folder.empty()) {
      return ReadOperand(absl::StrCat("--", name), path, flags.dtype, tensor);
    }
    return ReadOperand("--weights-from",
                       absl::StrCat(folder, "/", name, ".npy"), flags.dtype,
                       tensor);
  };
  CLIENT_RETURN_IF_ERROR(read("wq", flags.wq, weights.mutable_wq()));
  CLIENT_RETURN_IF_ERROR(read("wk", flags.wk, weights.mutable_wk()));
  CLIENT_RETURN_IF_ERROR(read("wv", flags.wv, weights.mutable_wv()));
  return read("wo", flags.wo, weights.mutable_wo());
}

absl::Status AddTokens(absl::string_view tokens, v1::AttentionModule* module) {
  for (const absl::string_view token : absl::StrSplit(
           tokens, absl::ByAnyChar(" \t\n"), absl::SkipWhitespace())) {
    absl::string_view rest = token;
    while (const size_t length = server::Utf8Length(rest)) {
      rest.remove_prefix(length);
    }
    if (!rest.empty()) {
      return UsageError(absl::StrCat("--tokens: word ",
                                     module->tokens_size() + 1,
                                     " is not valid UTF-8 text"));
    }
    module->add_tokens(std::string(token));
  }
  if (module->tokens().empty()) {
    return UsageError("--tokens: contains no words");
  }
  return absl::OkStatus();
}

// Takes the sizes of the layer from the configuration, unless flags give them:
// heads keep the width that the configuration gives them.
absl::Status AddSizes(const AttendFlags& flags, const HfModel& model,
                      AttendPlan* plan) {
  v1::AttentionModule& module = *plan->request.mutable_module();
  if (model.head_dim <= 0 || flags.dim.has_value()) return absl::OkStatus();
  if (flags.x.empty()) {
    const CallSizes sizes = SizesForLayer(model, flags.head_count);
    module.set_dim(sizes.dim);
    module.set_head_count(sizes.head_count);
    plan->sizes_note = sizes.note;
    return absl::OkStatus();
  }
  if (flags.head_count.has_value()) return absl::OkStatus();
  const int64_t width = module.x().shape(module.x().shape_size() - 1);
  if (width % model.head_dim != 0) {
    return UsageError(absl::StrCat(
        "--x: has width ", width,
        ", which is no multiple of the head dimension ", model.head_dim, " of ",
        model.file_name, "; give --heads"));
  }
  module.set_head_count(width / model.head_dim);
  plan->sizes_note = SizesNote(model, model.head_dim, 0);
  return absl::OkStatus();
}

absl::Status AddModule(const AttendFlags& flags, const HfModel& model,
                       AttendPlan* plan) {
  v1::AttentionModule& module = *plan->request.mutable_module();
  if (!flags.x.empty()) {
    CLIENT_RETURN_IF_ERROR(
        ReadOperand("--x", flags.x, flags.dtype, module.mutable_x()));
    const int rank = module.x().shape_size();
    if (rank != 2 && rank != 3) {
      return UsageError(
          absl::StrCat("--x ", ShapeName(module.x()),
                       ": must be [T, d_model] or [B, T, d_model]"));
    }
    plan->added_axes = 3 - rank;
    AddAxes(plan->added_axes, module.mutable_x());
  } else {
    // The server adds a batch axis to tokens.
    plan->added_axes = 1;
    CLIENT_RETURN_IF_ERROR(AddTokens(flags.tokens, &module));
  }
  if (flags.head_count.has_value()) module.set_head_count(*flags.head_count);
  if (flags.dim.has_value()) module.set_dim(*flags.dim);
  CLIENT_RETURN_IF_ERROR(AddSizes(flags, model, plan));
  return AddWeights(flags, &module);
}

absl::Status ReadPositions(const std::string& flag, const std::string& text,
                           v1::Positions* positions) {
  const absl::StatusOr<v1::Positions> parsed = ParsePositions(text);
  if (!parsed.ok()) return AsUsage(parsed.status(), flag);
  *positions = *parsed;
  return absl::OkStatus();
}

absl::Status AddOptions(const AttendFlags& flags,
                        v1::AttentionOptions* options) {
  options->set_causal(flags.causal);
  options->set_bottom_right(flags.bottom_right);
  if (flags.query_offset.has_value()) {
    options->set_query_offset(*flags.query_offset);
  }
  options->set_window(flags.window);
  if (flags.scale.has_value()) options->set_scale(*flags.scale);
  options->set_softcap(flags.softcap);
  options->set_return_weights(flags.return_weights);
  options->set_return_log_sum_exp(flags.return_log_sum_exp);
  if (!flags.mask.empty()) {
    CLIENT_RETURN_IF_ERROR(
        ReadTensor("--mask", flags.mask, options->mutable_mask()));
  }
  if (!flags.query_positions.empty()) {
    CLIENT_RETURN_IF_ERROR(ReadPositions("--query-positions",
                                         flags.query_positions,
                                         options->mutable_query_positions()));
  }
  if (!flags.key_positions.empty()) {
    CLIENT_RETURN_IF_ERROR(ReadPositions("--key-positions", flags.key_positions,
                                         options->mutable_key_positions()));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<AttendPlan> MakeAttendPlan(const AttendFlags& flags) {
  CLIENT_RETURN_IF_ERROR(CheckCombination(flags));
  AttendPlan plan;
  CLIENT_ASSIGN_OR_RETURN(const HfModel model,
                          ReadModel(flags.scheme, DirectionFor(flags.causal)));
  *plan.request.mutable_scheme() = model.scheme;
  if (!flags.q.empty() && ActsOnEmbeddings(model.scheme)) {
    return UsageError(
        absl::StrCat(SchemeName(model.scheme),
                     " acts on embeddings; use --x or --tokens instead of --q, "
                     "--k and --v"));
  }
  CLIENT_RETURN_IF_ERROR(flags.q.empty() ? AddModule(flags, model, &plan)
                                         : AddHeads(flags, &plan));
  CLIENT_RETURN_IF_ERROR(AddOptions(flags, plan.request.mutable_options()));
  return plan;
}

void RemoveAddedAxes(int count, v1::Tensor* tensor) {
  for (; count > 0 && tensor->shape_size() > 0 && tensor->shape(0) == 1;
       --count) {
    tensor->mutable_shape()->erase(tensor->shape().begin());
  }
}

}  // namespace locus::client
