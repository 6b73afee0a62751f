#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"
#include "client/base/status_macros.h"
#include "client/cli/commands/command.h"
#include "client/cli/commands/explain_call.h"
#include "client/cli/render/explanation.h"
#include "client/cli/render/json.h"
#include "client/cli/render/number_text.h"
#include "client/cli/render/scheme_title.h"
#include "client/cli/requests/scheme_flags.h"
#include "client/cli/requests/scheme_text.h"
#include "client/cli/support/cli_errors.h"
#include "client/cli/support/session.h"
#include "client/cli/support/terminal.h"
#include "locus/client/tensor.h"
#include "nlohmann/json.hpp"

namespace locus::client {
namespace {

constexpr char kExplainExamples[] = R"(Examples:
  locus explain rope --dim 128 --trained 4096
  locus explain 'rope { yarn { factor: 4 original_length: 4096 } }' --dim 128 \
    --plot wavelengths.svg
  locus explain config.json
  locus explain alibi --heads 8 --trained 1024 --target 4096 --plot bias.svg
  locus explain sinusoidal --dim 512 --trained 2048)";

// Target length of a bias relative to its trained length, unless --target is
// given.
constexpr double kDefaultBiasExtension = 4;

struct ExplainFlags {
  CommonFlags common;
  SchemeFlags scheme;
  int64_t dim = 0;
  int64_t head_count = 0;
  int64_t trained_length = 0;
  double target_length = 0;
  int64_t length = 256;
  std::string plot;
  std::string theme;
};

FlagHints ExplainHints() {
  return {{"dim", "--dim"},
          {"head_count", "--heads"},
          {"positions", "--length"},
          {"trained_length", "--trained"},
          {"target_length", "--target"},
          {"scheme", "--scheme"}};
}

v1::EncodeRequest MakeRequest(const HfModel& model, const ExplainFlags& flags) {
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
  return request;
}

// Requests the encoding to explain: the first position; for a bias, one query
// at the end of a sequence and all keys; for a learned table, all rows.
absl::StatusOr<v1::EncodeResponse> RequestEncoding(Client& client,
                                                   const ExplainFlags& flags,
                                                   v1::EncodeRequest& request) {
  auto response = EncodeAtDefaultSize(client, request);
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

// The explanation of a scheme in all output formats.
struct Explanation {
  std::string text;
  nlohmann::ordered_json json;
  plot::LineChart chart;
};

// The scheme to explain, and the client to ask.
struct Subject {
  Client& client;
  const ExplainFlags& flags;
  // The name of the scheme's kind.
  std::string name;
  v1::EncodeRequest request;
  v1::SchemeDescription description;

  // The title of a chart, such as "rope, yarn ×4 of 2048 (dim 16)".
  std::string TitleWith(const std::string& size) const {
    return absl::StrCat(SchemeTitle(request.scheme(), &description), " (", size,
                        ")");
  }
};

absl::StatusOr<Explanation> ExplainPairs(const Subject& subject,
                                         const RotationFacts& facts) {
  CLIENT_ASSIGN_OR_RETURN(const AngleVerdict verdict,
                          JudgePairs(subject.client, subject.request, facts));
  return Explanation{ExplainRotation(facts, verdict),
                     RotationJson(facts, verdict),
                     RotationChart(facts, subject.TitleWith(absl::StrCat(
                                              "dim ", subject.request.dim())))};
}

absl::StatusOr<Explanation> ExplainLearnedTable(
    const Subject& subject, const v1::AdditiveEncoding& additive) {
  CLIENT_RETURN_IF_ERROR(CheckTensor(additive.table()));
  const TableFacts facts{
      .table_length = additive.table_length(),
      .policy = additive.policy(),
      .trained_length = static_cast<double>(subject.flags.trained_length)};
  CLIENT_ASSIGN_OR_RETURN(plot::LineChart chart,
                          TableChart(additive.table(), facts,
                                     subject.TitleWith(absl::StrCat(
                                         "dim ", subject.request.dim()))));
  return Explanation{ExplainTable(facts), TableJson(facts), std::move(chart)};
}

absl::StatusOr<Explanation> ExplainScoreBias(const Subject& subject,
                                             const v1::BiasEncoding& bias) {
  CLIENT_RETURN_IF_ERROR(CheckTensor(bias.bias()));
  CLIENT_ASSIGN_OR_RETURN(
      plot::LineChart chart,
      BiasDistanceChart(bias, subject.TitleWith(absl::StrCat(
                                  bias.bias().shape(0), " heads"))));
  CLIENT_ASSIGN_OR_RETURN(std::string text, ExplainBias(bias));
  CLIENT_ASSIGN_OR_RETURN(nlohmann::ordered_json json, BiasJson(bias));
  const auto trained = static_cast<double>(subject.flags.trained_length);
  const double target = subject.flags.target_length > 0
                            ? subject.flags.target_length
                            : kDefaultBiasExtension * trained;
  CLIENT_ASSIGN_OR_RETURN(
      const BiasVerdict verdict,
      JudgeBias(subject.client, subject.request, trained, target));
  const std::string& beyond = subject.description.beyond_training();
  absl::StrAppend(&text, "\n",
                  SentenceList(BiasVerdictSentences(verdict, beyond)));
  json["verdict"] = BiasVerdictJson(verdict, beyond);
  return Explanation{std::move(text), std::move(json), std::move(chart)};
}

absl::StatusOr<Explanation> Explain(const Subject& subject,
                                    const v1::EncodeResponse& response) {
  if (response.has_rotation()) {
    return ExplainPairs(subject, FactsOf(response.rotation()));
  }
  if (response.additive().frequencies_size() > 0) {
    return ExplainPairs(
        subject, FactsOf(response.additive(),
                         static_cast<double>(subject.flags.trained_length),
                         subject.flags.target_length));
  }
  if (response.has_additive()) {
    return ExplainLearnedTable(subject, response.additive());
  }
  if (response.has_bias()) return ExplainScoreBias(subject, response.bias());
  return UsageError(absl::StrCat("--scheme: ", subject.name,
                                 " has no position encoding to explain"));
}

// "rope (dim 128 from llama31.json)" and an empty line, if sizes come from a
// configuration; otherwise empty.
std::string SizesLine(const HfModel& model, const ExplainFlags& flags,
                      bool is_bias) {
  const std::string note =
      SizesNote(model, flags.dim > 0 || is_bias ? 0 : model.head_dim,
                flags.head_count > 0 || !is_bias ? 0 : model.head_count);
  return note.empty()
             ? ""
             : absl::StrCat(SchemeName(model.scheme), " ", note, "\n\n");
}

absl::Status ValidateFlags(const ExplainFlags& flags) {
  if (flags.length < 1) return UsageError("--length must be at least 1");
  if (flags.trained_length < 0) {
    return UsageError("--trained must not be negative");
  }
  if (!(flags.target_length >= 0)) {
    return UsageError("--target must not be negative");
  }
  return absl::OkStatus();
}

absl::StatusOr<Outcome> Run(const ExplainFlags& flags) {
  CLIENT_RETURN_IF_ERROR(ValidateFlags(flags));
  CLIENT_ASSIGN_OR_RETURN(const PictureFile picture,
                          ReadOptionalPicture(flags.plot, flags.theme, "--plot",
                                              flags.common.json));
  CLIENT_ASSIGN_OR_RETURN(const HfModel model, ReadModel(flags.scheme));
  CLIENT_ASSIGN_OR_RETURN(const Session session, OpenSession(flags.common));
  Subject subject{.client = *session.client,
                  .flags = flags,
                  .name = SchemeName(model.scheme),
                  .request = MakeRequest(model, flags)};
  const auto response =
      RequestEncoding(*session.client, flags, subject.request);
  if (!response.ok()) return WithFlagHint(response.status(), ExplainHints());
  CLIENT_ASSIGN_OR_RETURN(subject.description,
                          DescribeScheme(*session.client, subject.name));
  CLIENT_ASSIGN_OR_RETURN(const Explanation explanation,
                          Explain(subject, *response));
  const std::string text =
      flags.common.json
          ? JsonLine(explanation.json)
          : absl::StrCat(SizesLine(model, flags, response->has_bias()),
                         explanation.text);
  if (flags.plot.empty()) return Outcome{.text = text};
  return PrintAndDraw(text, flags.common.json, explanation.chart, picture);
}

}  // namespace

void AddExplain(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand(
      "explain",
      "Explain the parameters of a scheme: wavelengths, turns, slopes, "
      "buckets, and up to which length it is safe");
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
      "Target length; default: the training length times the scaling factor, "
      "for a bias times 4");
  add("--length", flags->length, "N",
      "Length of the sequence for biases and tables; default 256");
  add("--plot", flags->plot, "FILE", "Draw a chart to this file, .svg or .png");
  add("--theme", flags->theme, "THEME",
      "Theme of the chart: auto (default), light or dark");
  AddCommonFlags(*command, flags->common);
  command->callback(
      [flags, &action] { action = [flags] { return Run(*flags); }; });
}

}  // namespace locus::client
