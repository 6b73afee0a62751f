#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"
#include "client/base/printable.h"
#include "client/base/status_macros.h"
#include "client/cli/commands/command.h"
#include "client/cli/render/explanation.h"
#include "client/cli/render/json.h"
#include "client/cli/requests/scheme_flags.h"
#include "client/cli/requests/scheme_text.h"
#include "client/cli/support/cli_errors.h"
#include "client/cli/support/session.h"
#include "client/cli/support/terminal.h"
#include "client/io/file.h"
#include "client/plot/render_file.h"
#include "locus/client/errors.h"
#include "locus/client/tensor.h"
#include "nlohmann/json.hpp"

namespace locus::client {
namespace {

constexpr char kExplainExamples[] = R"(Examples:
  locus explain --scheme rope --dim 128 --trained 4096
  locus explain --scheme 'rope { yarn { factor: 4 original_length: 4096 } }' \
    --dim 128 --plot wavelengths.svg
  locus explain --hf-config config.json
  locus explain --scheme alibi --heads 8 --plot bias.svg
  locus explain --scheme sinusoidal --dim 512 --trained 2048)";

struct ExplainFlags {
  CommonFlags common;
  SchemeFlags scheme;
  int64_t dim = 0;
  int64_t head_count = 0;
  int64_t trained_length = 0;
  double target_length = 0;
  int64_t length = 256;
  std::string plot;
  std::string theme = "auto";
};

FlagHints ExplainHints() {
  return {{"dim", "--dim"},
          {"head_count", "--heads"},
          {"positions", "--length"},
          {"trained_length", "--trained"},
          {"target_length", "--target"},
          {"scheme", "--scheme"}};
}

// Requests the encoding to explain: the first position; for a bias, one query
// at the end of a sequence and all keys; for a learned table, all rows. If the
// server reports that the dimension or the number of heads is missing, the call
// is repeated with a default.
absl::StatusOr<v1::EncodeResponse> RequestEncoding(Client& client,
                                                   const HfModel& model,
                                                   const ExplainFlags& flags) {
  v1::EncodeRequest request;
  *request.mutable_scheme() = model.scheme;
  request.mutable_positions()->mutable_ids()->add_ids(0);
  request.set_dim(flags.dim > 0 ? flags.dim : model.head_dim);
  request.set_head_count(flags.head_count > 0 ? flags.head_count
                                              : model.head_count);
  request.set_dtype(v1::DATA_TYPE_FLOAT64);
  if (flags.trained_length > 0) {
    request.set_trained_length(flags.trained_length);
  } else if (model.trained_length > 0 && flags.target_length == 0) {
    request.set_trained_length(model.trained_length);
  }
  if (flags.target_length > 0) {
    request.set_target_length(flags.target_length);
  } else if (model.target_length > 0 && flags.trained_length == 0) {
    request.set_target_length(static_cast<double>(model.target_length));
  }
  auto response = client.Encode(request);
  const auto lacks = [&](absl::string_view field) {
    const auto violations = FieldViolations(response.status());
    return !violations.empty() && violations.front().field == field;
  };
  if (lacks("dim") && request.dim() == 0) {
    request.set_dim(kDefaultDim);
    response = client.Encode(request);
  } else if (lacks("head_count") && request.head_count() == 0) {
    request.set_head_count(8);
    response = client.Encode(request);
  }
  if (!response.ok()) return response;
  if (const int64_t rows = response->additive().table_length(); rows > 0) {
    const bool is_bounded = response->additive().policy() == "ERROR";
    request.mutable_positions()->mutable_range()->set_count(
        is_bounded ? std::min(flags.length, rows) : flags.length);
    return client.Encode(request);
  }
  if (!response->has_bias()) return response;
  request.mutable_positions()->mutable_ids()->set_ids(0, flags.length - 1);
  request.mutable_key_positions()->mutable_range()->set_count(flags.length);
  return client.Encode(request);
}

// The contents of the file for --plot.
absl::StatusOr<std::string> RenderPlot(const ExplainFlags& flags,
                                       const plot::LineChart& chart) {
  const auto format = plot::FormatOfPath(flags.plot);
  if (!format.ok()) return AsUsage(format.status(), "--plot");
  const auto theme = plot::ParseTheme(flags.theme);
  if (!theme.ok()) return AsUsage(theme.status(), "--theme");
  CLIENT_ASSIGN_OR_RETURN(
      const std::string bytes,
      plot::Render(plot::DrawLineChart(chart), *format, *theme));
  return *format == plot::Format::kSvg ? Printable(bytes) : bytes;
}

// The explanation of a scheme in all output formats.
struct Explanation {
  std::string text;
  nlohmann::ordered_json json;
  plot::LineChart chart;
};

Explanation ExplainPairs(const RotationFacts& facts, const std::string& name) {
  return {ExplainRotation(facts), RotationJson(facts),
          RotationChart(facts, name)};
}

absl::StatusOr<Explanation> ExplainLearnedTable(
    const v1::AdditiveEncoding& additive, const std::string& name,
    const ExplainFlags& flags) {
  CLIENT_RETURN_IF_ERROR(CheckTensor(additive.table()));
  const TableFacts facts{
      .table_length = additive.table_length(),
      .policy = additive.policy(),
      .trained_length = static_cast<double>(flags.trained_length)};
  CLIENT_ASSIGN_OR_RETURN(plot::LineChart chart,
                          TableChart(additive.table(), facts, name));
  return Explanation{ExplainTable(facts), TableJson(facts), std::move(chart)};
}

absl::StatusOr<Explanation> ExplainScoreBias(const v1::BiasEncoding& bias,
                                             const std::string& name) {
  CLIENT_RETURN_IF_ERROR(CheckTensor(bias.bias()));
  CLIENT_ASSIGN_OR_RETURN(plot::LineChart chart, BiasDistanceChart(bias, name));
  CLIENT_ASSIGN_OR_RETURN(std::string text, ExplainBias(bias));
  CLIENT_ASSIGN_OR_RETURN(nlohmann::ordered_json json, BiasJson(bias));
  return Explanation{std::move(text), std::move(json), std::move(chart)};
}

absl::StatusOr<Explanation> Explain(const v1::EncodeResponse& response,
                                    const v1::Scheme& scheme,
                                    const ExplainFlags& flags) {
  const std::string name = SchemeName(scheme);
  if (response.has_rotation()) {
    return ExplainPairs(FactsOf(response.rotation()), name);
  }
  if (response.additive().frequencies_size() > 0) {
    return ExplainPairs(
        FactsOf(response.additive(), static_cast<double>(flags.trained_length),
                flags.target_length),
        name);
  }
  if (response.has_additive()) {
    return ExplainLearnedTable(response.additive(), name, flags);
  }
  if (response.has_bias()) return ExplainScoreBias(response.bias(), name);
  return UsageError(
      absl::StrCat("--scheme: ", name, " has no position encoding to explain"));
}

absl::StatusOr<Outcome> Run(const ExplainFlags& flags) {
  if (flags.length < 1) return UsageError("--length must be at least 1");
  if (flags.trained_length < 0) {
    return UsageError("--trained must not be negative");
  }
  if (!(flags.target_length >= 0)) {
    return UsageError("--target must not be negative");
  }
  CLIENT_ASSIGN_OR_RETURN(const HfModel model, ReadModel(flags.scheme));
  CLIENT_ASSIGN_OR_RETURN(const Session session, OpenSession(flags.common));
  const auto response = RequestEncoding(*session.client, model, flags);
  if (!response.ok()) return WithFlagHint(response.status(), ExplainHints());
  CLIENT_ASSIGN_OR_RETURN(const Explanation explanation,
                          Explain(*response, model.scheme, flags));
  const std::string text =
      flags.common.json ? JsonLine(explanation.json) : explanation.text;
  if (flags.plot.empty()) return Outcome{.text = text};
  CLIENT_ASSIGN_OR_RETURN(const std::string plot,
                          RenderPlot(flags, explanation.chart));
  CLIENT_RETURN_IF_ERROR(
      PrintThenWrite(text, [&] { return WriteFile(flags.plot, plot, ""); }));
  return Outcome{.text = flags.common.json
                             ? ""
                             : absl::StrCat("wrote ", flags.plot, "\n")};
}

}  // namespace

void AddExplain(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand(
      "explain",
      "Explain the parameters of a scheme: wavelengths, turns within the "
      "training length, decay, table rows, slopes, buckets");
  command->footer(kExplainExamples);
  auto flags = std::make_shared<ExplainFlags>();
  AddSchemeFlags(*command, flags->scheme);
  const auto add = [command](const char* name, auto& target, const char* type,
                             const char* description) {
    command->add_option(name, target, description)->type_name(type);
  };
  add("-d,--dim", flags->dim, "N",
      "Width of one head or of the embeddings; default 64");
  add("--heads", flags->head_count, "N",
      "Number of heads of a score bias; default 8");
  add("--trained", flags->trained_length, "N",
      "Training length; default: that of the scaling or the configuration");
  add("--target", flags->target_length, "N",
      "Target length; default: the training length times the scaling factor");
  add("--length", flags->length, "N",
      "Length of the sequence for biases and tables; default 256");
  add("--plot", flags->plot, "FILE", "Draw a chart to this file, .svg or .png");
  add("--theme", flags->theme, "THEME",
      "Theme of the chart: auto, light or dark");
  AddCommonFlags(*command, flags->common);
  command->callback(
      [flags, &action] { action = [flags] { return Run(*flags); }; });
}

}  // namespace locus::client
