#include <algorithm>
#include <memory>

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/cli/requests/attend_request.h"
#include "client/cli/commands/command.h"
#include "client/cli/render/encoding_charts.h"
#include "client/cli/support/terminal.h"
#include "client/cli/requests/positions.h"
#include "client/cli/requests/scheme_flags.h"
#include "client/cli/requests/scheme_text.h"
#include "client/cli/requests/seed_flag.h"
#include "client/cli/support/session.h"
#include "client/cli/support/suggest.h"
#include "client/cli/support/cli_errors.h"
#include "client/io/file.h"
#include "client/plot/file.h"
#include "client/base/status_macros.h"
#include "locus/client/tensor.h"

namespace locus::client {
namespace {

constexpr char kExamples[] = R"(Kinds:
  heatmap     the table that is added to embeddings
  similarity  the cosine between the codes of any two positions; for rotations,
              between a vector of ones turned for one position and for the other
  waveforms   channels over positions; for rotations, cosine and sine of pairs
  bias        what is added to the scores, head by head
  attention   who looks at whom among words

Examples:
  locus plot heatmap --scheme sinusoidal --dim 128 --out table.svg
  locus plot similarity --scheme rope --positions 0:256 --out similarity.png
  locus plot waveforms --scheme sinusoidal --channels 0,8,16,32 --out waves.svg
  locus plot bias --scheme 'alibi { symmetric: true }' --heads 8 --out bias.svg
  locus plot attention --scheme rope --tokens "the cat sat on the mat" --causal \
    --out attention.png --theme dark

SVG follows the reader's light or dark theme unless --theme says which; PNG is
light unless it says dark.)";

struct PlotFlags {
  CommonFlags common;
  std::string kind;
  // The scheme, words and the layer's settings.
  AttendFlags attend;
  std::string positions = "0:128";
  std::vector<int64_t> channels;
  std::string out;
  std::string theme = "auto";
  std::string title;
};

const std::vector<std::string>& Kinds() {
  static const auto* const kinds = new std::vector<std::string>{
      "heatmap", "similarity", "waveforms", "bias", "attention"};
  return *kinds;
}

FlagHints Hints() {
  return {{"positions", "--positions"},   {"dim", "--dim"},
          {"head_count", "--heads"},      {"module.head_count", "--heads"},
          {"module.dim", "--dim"},        {"module.tokens", "--tokens"},
          {"options.causal", "--causal"}, {"options.window", "--window"},
          {"scheme", "--scheme"}};
}

absl::Status CheckFlags(const PlotFlags& flags) {
  if (std::find(Kinds().begin(), Kinds().end(), flags.kind) == Kinds().end()) {
    return UsageError(absl::StrCat("there is no kind \"", flags.kind, "\"",
                                   DidYouMean(flags.kind, Kinds()), " (kinds: ",
                                   absl::StrJoin(Kinds(), ", "), ")"));
  }
  if (flags.kind == "attention" && flags.attend.tokens.empty()) {
    return UsageError("attention needs words: --tokens \"the cat sat\"");
  }
  if (flags.kind != "attention" && !flags.attend.tokens.empty()) {
    return UsageError(
        absl::StrCat("--tokens goes with attention, not with ", flags.kind));
  }
  return absl::OkStatus();
}

absl::StatusOr<plot::Scene> PictureOfWords(const PlotFlags& flags,
                                           const PictureOptions& options) {
  AttendFlags attend = flags.attend;
  attend.return_weights = true;
  CLIENT_ASSIGN_OR_RETURN(const AttendPlan plan, MakeAttendPlan(attend));
  CLIENT_ASSIGN_OR_RETURN(const Session session, OpenSession(flags.common));
  const absl::StatusOr<v1::AttendResponse> response =
      session.client->Attend(plan.request);
  if (!response.ok()) return WithFlagHint(response.status(), Hints());
  CLIENT_RETURN_IF_ERROR(CheckTensor(response->weights()));
  const auto& tokens = plan.request.module().tokens();
  return AttentionPicture(options, {tokens.begin(), tokens.end()},
                          plan.request.options(), response->weights());
}

absl::Status CheckResponse(const v1::EncodeResponse& response) {
  if (response.has_additive()) return CheckTensor(response.additive().table());
  if (response.has_bias()) return CheckTensor(response.bias().bias());
  if (!response.has_rotation()) return absl::OkStatus();
  CLIENT_RETURN_IF_ERROR(CheckTensor(response.rotation().cos()));
  return CheckTensor(response.rotation().sin());
}

// Which sizes a scheme needs, the server knows: what it misses is filled in.
absl::StatusOr<v1::EncodeResponse> EncodeWithDefaults(
    Client& client, v1::EncodeRequest& request) {
  constexpr int64_t kDim = 64;
  constexpr int64_t kHeads = 4;
  while (true) {
    absl::StatusOr<v1::EncodeResponse> response = client.Encode(request);
    const std::vector<FieldViolation> violations =
        FieldViolations(response.status());
    const auto misses = [&violations](absl::string_view field) {
      return !violations.empty() && violations.front().field == field;
    };
    if (misses("dim") && request.dim() == 0) {
      request.set_dim(kDim);
    } else if (misses("head_count") && request.head_count() == 0) {
      request.set_head_count(kHeads);
    } else {
      return response;
    }
  }
}

absl::StatusOr<plot::Scene> PictureOfScheme(const PlotFlags& flags,
                                            const v1::Scheme& scheme,
                                            PictureOptions options) {
  auto positions = ParsePositions(flags.positions);
  if (!positions.ok()) return AsUsage(positions.status(), "--positions");
  if (PositionCount(*positions) == 0) {
    return UsageError("--positions: there are none to draw");
  }
  options.positions = *positions;
  v1::EncodeRequest request;
  *request.mutable_scheme() = scheme;
  *request.mutable_positions() = options.positions;
  request.set_dim(flags.attend.dim.value_or(0));
  request.set_head_count(flags.attend.head_count.value_or(0));
  CLIENT_ASSIGN_OR_RETURN(const Session session, OpenSession(flags.common));
  const absl::StatusOr<v1::EncodeResponse> response =
      EncodeWithDefaults(*session.client, request);
  if (!response.ok()) return WithFlagHint(response.status(), Hints());
  CLIENT_RETURN_IF_ERROR(CheckResponse(*response));
  options.dim = request.dim();
  if (flags.kind == "heatmap") return HeatmapPicture(options, *response);
  if (flags.kind == "similarity") return SimilarityPicture(options, *response);
  if (flags.kind == "bias") return BiasPicture(options, *response);
  return WaveformPicture(options, *response, flags.channels);
}

absl::StatusOr<Outcome> Run(const PlotFlags& flags) {
  CLIENT_RETURN_IF_ERROR(CheckFlags(flags));
  const absl::StatusOr<plot::Format> format = plot::FormatOfPath(flags.out);
  if (!format.ok()) return AsUsage(format.status(), "--out");
  const absl::StatusOr<plot::Theme> theme = plot::ParseTheme(flags.theme);
  if (!theme.ok()) return AsUsage(theme.status(), "--theme");
  CLIENT_ASSIGN_OR_RETURN(const v1::Scheme scheme,
                          ReadScheme(flags.attend.scheme));
  const PictureOptions options{.title = flags.title,
                               .scheme_name = SchemeName(scheme)};
  CLIENT_ASSIGN_OR_RETURN(const plot::Scene scene,
                          flags.kind == "attention"
                              ? PictureOfWords(flags, options)
                              : PictureOfScheme(flags, scheme, options));
  CLIENT_ASSIGN_OR_RETURN(const std::string bytes,
                          plot::Render(scene, *format, *theme));
  if (flags.out == "-") return Outcome{.text = bytes};
  CLIENT_RETURN_IF_ERROR(WriteFile(flags.out, bytes, ""));
  return Outcome{.text = absl::StrCat("wrote ", flags.out, "\n")};
}

void AddLayerFlags(CLI::App& command, PlotFlags& flags) {
  const auto add = [&command](const char* name, auto& target, const char* type,
                              const char* description) {
    return command.add_option(name, target, description)->type_name(type);
  };
  add("-p,--positions", flags.positions, "LIST", "0:256, 0,5,9 or @ids.npy")
      ->capture_default_str();
  add("-d,--dim", flags.attend.dim, "N",
      "Width of the embeddings, or of one head; default 64");
  add("--heads", flags.attend.head_count, "N",
      "Heads of a bias, default 4, or of the layer, default 1");
  add("--channels", flags.channels, "LIST",
      "Of waveforms: which channels or pairs, 0,8,16")
      ->delimiter(',')
      ->allow_extra_args(false);
  add("-t,--tokens", flags.attend.tokens, "WORDS", "Of attention: the words")
      ->group("Attention");
  command
      .add_flag("--causal", flags.attend.causal, "Hide keys after the query")
      ->group("Attention");
  add("--window", flags.attend.window, "N",
      "Hide keys at this distance or further")
      ->group("Attention");
  AddSeedFlag(command, flags.attend.seed,
              "Draws the layer's weights; default 0", "Attention");
}

}  // namespace

void AddPlot(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand("plot", "Draw a scheme as SVG or PNG");
  command->footer(kExamples);
  auto flags = std::make_shared<PlotFlags>();
  command->add_option("kind", flags->kind, absl::StrJoin(Kinds(), ", "))
      ->type_name("KIND")
      ->required();
  AddSchemeFlags(*command, flags->attend.scheme);
  AddLayerFlags(*command, *flags);
  command
      ->add_option("-o,--out", flags->out,
                   "File to write, .svg or .png; - is SVG on standard output")
      ->type_name("FILE")
      ->required();
  command->add_option("--theme", flags->theme, "auto, light or dark")
      ->type_name("THEME")
      ->capture_default_str();
  command->add_option("--title", flags->title, "Instead of our own")
      ->type_name("TEXT");
  AddServiceFlags(*command, flags->common);
  command->callback(
      [flags, &action] { action = [flags] { return Run(*flags); }; });
}

}  // namespace locus::client
