#include <memory>
#include <optional>

#include "CLI/CLI.hpp"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "client/base/status_macros.h"
#include "client/cli/commands/call_output.h"
#include "client/cli/commands/command.h"
#include "client/cli/commands/product_call.h"
#include "client/cli/render/json.h"
#include "client/cli/render/table.h"
#include "client/cli/requests/float_type.h"
#include "client/cli/requests/positions.h"
#include "client/cli/requests/scheme_flags.h"
#include "client/cli/requests/scheme_sizes.h"
#include "client/cli/requests/scheme_text.h"
#include "client/cli/support/cli_errors.h"
#include "client/cli/support/session.h"
#include "client/cli/support/terminal.h"
#include "locus/client/npy.h"
#include "locus/client/tensor.h"
#include "nlohmann/json.hpp"

namespace locus::client {
namespace {

using Json = nlohmann::ordered_json;

constexpr char kEncodeExamples[] = R"(Examples:
  locus encode sinusoidal --dim 8
  locus encode rope:base=500000,layout=half_split --positions 0:16 \
    -o angles.npy                           # angles.cos.npy, angles.sin.npy
  locus encode alibi --heads 4 --positions 0:4
  locus encode config.json                  # the scheme and width of a model
  locus encode rope --input q.npy --positions @ids.npy -o rotated.npy

Biases such as alibi act on both sides of a query unless --causal is given.)";

struct EncodeFlags {
  CommonFlags common;
  SchemeFlags scheme;
  std::string positions;
  std::string key_positions;
  std::optional<int64_t> dim;
  std::optional<int64_t> head_count;
  bool causal = false;
  std::string input;
  std::string dtype;
  std::string output;
  ProductFlags products;
};

FlagHints EncodeHints(const v1::Scheme& scheme) {
  FlagHints hints = SchemeHints(scheme);
  const FlagHints others = {{"positions", "--positions"},
                            {"key_positions", "--key-positions"},
                            {"dim", "--dim"},
                            {"head_count", "--heads"},
                            {"input", "--input"},
                            {"dtype", "--dtype"}};
  hints.insert(hints.end(), others.begin(), others.end());
  return hints;
}

// Returns a usage error if a flag would have no effect on the scheme.
absl::Status CheckEffect(const EncodeFlags& flags, const v1::Scheme& scheme) {
  const std::string name = SchemeName(scheme);
  if (flags.head_count.has_value() && !ActsOnScores(scheme)) {
    return UsageError(absl::StrCat("--heads: ", name,
                                   " adds no bias to the scores and does not "
                                   "depend on the number of heads"));
  }
  if (flags.dim.has_value() && ActsOnScores(scheme)) {
    return UsageError(absl::StrCat("--dim: ", name,
                                   " is a bias on the scores and does not "
                                   "depend on a width; give --heads"));
  }
  if (flags.causal && TwoSidedParameter(scheme) == nullptr) {
    return UsageError(absl::StrCat("--causal: the encoding of ", name,
                                   " is the same with and without it"));
  }
  return absl::OkStatus();
}

absl::StatusOr<v1::EncodeRequest> MakeRequest(const EncodeFlags& flags,
                                              const v1::Scheme& scheme,
                                              const CallSizes& sizes) {
  v1::EncodeRequest request;
  *request.mutable_scheme() = scheme;
  request.set_dim(sizes.dim);
  request.set_head_count(sizes.head_count);
  if (!flags.dtype.empty()) {
    CLIENT_ASSIGN_OR_RETURN(const v1::DataType dtype,
                            ParseFloatType(flags.dtype));
    request.set_dtype(dtype);
  }
  if (!flags.input.empty()) {
    auto input = ReadNpy(flags.input);
    if (!input.ok()) return AsUsage(input.status(), "--input");
    *request.mutable_input() = *std::move(input);
  }
  // The input determines the default positions; without one, use a few.
  const std::string positions =
      flags.positions.empty() && flags.input.empty() ? "0:8" : flags.positions;
  if (!positions.empty()) {
    const auto parsed = ParsePositions(positions);
    if (!parsed.ok()) return AsUsage(parsed.status(), "--positions");
    *request.mutable_positions() = *parsed;
  }
  if (!flags.key_positions.empty()) {
    const auto parsed = ParsePositions(flags.key_positions);
    if (!parsed.ok()) return AsUsage(parsed.status(), "--key-positions");
    *request.mutable_key_positions() = *parsed;
  }
  return request;
}

absl::Status CheckResponse(const v1::EncodeResponse& response) {
  if (response.has_output()) {
    CLIENT_RETURN_IF_ERROR(CheckTensor(response.output()));
  }
  switch (response.encoding_case()) {
    case v1::EncodeResponse::kAdditive:
      return CheckTensor(response.additive().table());
    case v1::EncodeResponse::kRotation:
      CLIENT_RETURN_IF_ERROR(CheckTensor(response.rotation().cos()));
      return CheckTensor(response.rotation().sin());
    case v1::EncodeResponse::kBias:
      return CheckTensor(response.bias().bias());
    case v1::EncodeResponse::ENCODING_NOT_SET:
      break;
  }
  return absl::OkStatus();
}

// Labels of rows or columns: the requested positions, or indices past their
// end. `positions` must outlive the result.
std::function<std::string(int64_t)> Labels(const v1::Positions& positions) {
  return [&positions](int64_t i) {
    return absl::StrCat(i < PositionCount(positions) ? PositionAt(positions, i)
                                                     : i);
  };
}

std::string FormatText(const v1::EncodeRequest& request,
                       const v1::EncodeResponse& response) {
  TensorTable table{.row_label = Labels(request.positions()),
                    .width = OutputColumns()};
  const auto format = [&table](const char* title, const v1::Tensor& tensor) {
    table.title = title;
    return FormatTensor(table, tensor);
  };
  std::string text;
  if (response.has_additive()) {
    text = format("table", response.additive().table());
  } else if (response.has_rotation()) {
    const v1::RotationEncoding& rotation = response.rotation();
    text =
        absl::StrCat(format("cos", rotation.cos()), "\n",
                     format("sin", rotation.sin()), "\n",
                     FormatList("frequencies", {rotation.frequencies().begin(),
                                                rotation.frequencies().end()}),
                     "attention factor  ", rotation.attention_factor(), "\n");
  } else if (response.has_bias()) {
    const v1::BiasEncoding& bias = response.bias();
    table.column_label =
        Labels(request.has_key_positions() ? request.key_positions()
                                           : request.positions());
    table.table_label = [](int64_t head) {
      return absl::StrCat("head ", head);
    };
    text = format("bias", bias.bias());
    table.column_label = nullptr;
    table.table_label = nullptr;
    if (bias.slopes_size() > 0) {
      absl::StrAppend(
          &text, "\n",
          FormatList("slopes", {bias.slopes().begin(), bias.slopes().end()}));
    }
  } else {
    text = absl::StrCat(SchemeName(request.scheme()),
                        " has no position encoding\n");
  }
  if (response.has_output()) {
    absl::StrAppend(&text, "\n", format("output", response.output()));
  }
  return text;
}

std::string FormatJson(const v1::EncodeRequest& request,
                       const v1::EncodeResponse& response,
                       const CallInfo& info) {
  Json json = {{"scheme", SchemeName(request.scheme())}};
  if (response.has_additive()) {
    json["additive"] = {{"table", TensorJson(response.additive().table())}};
  } else if (response.has_rotation()) {
    const v1::RotationEncoding& rotation = response.rotation();
    json["rotation"] = {{"cos", TensorJson(rotation.cos())},
                        {"sin", TensorJson(rotation.sin())},
                        {"frequencies", rotation.frequencies()},
                        {"attention_factor", rotation.attention_factor()}};
  } else if (response.has_bias()) {
    json["bias"] = {{"bias", TensorJson(response.bias().bias())},
                    {"slopes", response.bias().slopes()}};
  }
  if (response.has_output()) json["output"] = TensorJson(response.output());
  json["call"] = CallJson(info);
  return JsonLine(json);
}

// The files for -o: the output if the request had an input, else the encoding.
// A rotation becomes two files. The result refers to `response`.
absl::StatusOr<std::vector<TensorFile>> FilesOf(
    const std::string& path, const v1::EncodeResponse& response) {
  using Files = std::vector<TensorFile>;
  if (path.empty()) return Files();
  if (response.has_output()) return Files{{path, &response.output()}};
  if (response.has_additive()) {
    return Files{{path, &response.additive().table()}};
  }
  if (response.has_bias()) return Files{{path, &response.bias().bias()}};
  if (!response.has_rotation()) {
    return UsageError(
        "-o: this scheme has no position encoding to write; give an --input");
  }
  if (path == "-") {
    return UsageError(
        "-o: a rotation consists of two tensors; name a file instead of -");
  }
  const std::string stem(absl::StripSuffix(path, ".npy"));
  return Files{{absl::StrCat(stem, ".cos.npy"), &response.rotation().cos()},
               {absl::StrCat(stem, ".sin.npy"), &response.rotation().sin()}};
}

// The sizes of the call. An input has its own.
CallSizes SizesOf(const EncodeFlags& flags, const HfModel& model) {
  if (flags.input.empty()) {
    return SizesForEncoding(model, flags.dim, flags.head_count);
  }
  return {.dim = flags.dim.value_or(0),
          .head_count = flags.head_count.value_or(0)};
}

absl::StatusOr<Outcome> Run(const EncodeFlags& flags) {
  if (flags.output == "-" && flags.common.json) {
    return UsageError(
        "-o - and --json both write to standard output; give one");
  }
  CLIENT_ASSIGN_OR_RETURN(const HfModel model,
                          ReadModel(flags.scheme, DirectionFor(flags.causal)));
  CLIENT_RETURN_IF_ERROR(CheckEffect(flags, model.scheme));
  const CallSizes sizes = SizesOf(flags, model);
  CLIENT_ASSIGN_OR_RETURN(const v1::EncodeRequest request,
                          MakeRequest(flags, model.scheme, sizes));
  CLIENT_ASSIGN_OR_RETURN(const Session session, OpenSession(flags.common));
  if (flags.products.any()) {
    if (!flags.output.empty()) {
      return UsageError("--gram and --shift-matrix write no files");
    }
    absl::StatusOr<std::string> text = EncodeProducts(
        *session.client, request, flags.products, flags.common.json);
    if (!text.ok())
      return WithFlagHint(text.status(), EncodeHints(model.scheme));
    return Outcome{.text = *std::move(text)};
  }
  CallInfo info;
  const absl::StatusOr<v1::EncodeResponse> response =
      session.client->Encode(request, {.info = &info});
  if (!response.ok())
    return WithFlagHint(response.status(), EncodeHints(model.scheme));
  CLIENT_RETURN_IF_ERROR(CheckResponse(*response));
  CLIENT_ASSIGN_OR_RETURN(const std::vector<TensorFile> files,
                          FilesOf(flags.output, *response));
  std::string text;
  if (flags.common.json) {
    text = FormatJson(request, *response, info);
  } else if (flags.output != "-") {
    text = WithSizes(model.scheme, sizes.note, FormatText(request, *response));
  }
  CLIENT_RETURN_IF_ERROR(
      PrintThenWrite(text, [&] { return WriteTensors(files); }));
  std::vector<std::string> paths;
  for (const TensorFile& file : files) paths.push_back(file.path);
  ReportWritten(paths);
  return Outcome{};
}

}  // namespace

void AddEncode(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand(
      "encode",
      "Compute the position encoding of a scheme, or apply it to a tensor");
  command->footer(kEncodeExamples);
  auto flags = std::make_shared<EncodeFlags>();
  AddSchemeFlags(*command, flags->scheme);
  command
      ->add_option(
          "-p,--positions", flags->positions,
          "Positions: 0:16, 0,5,9 or @ids.npy; default 0:8, or one per row "
          "of --input")
      ->type_name("LIST");
  command
      ->add_option(
          "--key-positions", flags->key_positions,
          "Key positions of a score bias; default: those of --positions")
      ->type_name("LIST");
  command
      ->add_option("-d,--dim", flags->dim,
                   "Width of the embeddings or of one head; default 64, or "
                   "that of the configuration")
      ->type_name("N");
  command
      ->add_option("--heads", flags->head_count,
                   "Number of heads of a score bias; default 8, or that of "
                   "the configuration")
      ->type_name("N");
  command->add_flag("--causal", flags->causal,
                    "Keep a bias one-sided, as causal attention uses it");
  command
      ->add_option("-i,--input", flags->input,
                   "Tensor to apply the scheme to; - is standard input")
      ->type_name("NPY");
  command
      ->add_option("--dtype", flags->dtype,
                   "Type of the result: float32, float64, float16 or bfloat16")
      ->type_name("TYPE");
  command
      ->add_option("-o,--out,--output", flags->output,
                   "File for the result; - is standard output")
      ->type_name("NPY");
  AddProductFlags(*command, flags->products);
  AddCommonFlags(*command, flags->common);
  command->callback(
      [flags, &action] { action = [flags] { return Run(*flags); }; });
}

}  // namespace locus::client
