#include <algorithm>
#include <memory>

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/base/status_macros.h"
#include "client/cli/commands/command.h"
#include "client/cli/render/encoding_charts.h"
#include "client/cli/requests/attend_request.h"
#include "client/cli/requests/positions.h"
#include "client/cli/requests/scheme_flags.h"
#include "client/cli/requests/scheme_sizes.h"
#include "client/cli/requests/scheme_text.h"
#include "client/cli/requests/seed_flag.h"
#include "client/cli/support/cli_errors.h"
#include "client/cli/support/session.h"
#include "client/cli/support/suggest.h"
#include "client/cli/support/terminal.h"
#include "client/io/file.h"
#include "client/plot/render_file.h"
#include "locus/client/tensor.h"

namespace locus::client {
namespace {

constexpr char kPlotExamples[] = R"(Kinds:
  heatmap     the table that is added to embeddings
  similarity  the cosine between the codes of two positions; for rotations,
              between a vector of ones rotated for either position
  waveforms   channels over positions; for rotations, cosine and sine of pairs
  bias        the bias added to the scores, one panel per head
  attention   the attention weights among words, one panel per head

Examples:
  locus plot heatmap sinusoidal --dim 128       # sinusoidal-heatmap.svg
  locus plot similarity rope --positions 0:256 --out similarity.png
  locus plot waveforms sinusoidal --channels 0,8,16,32 --out waves.svg
  locus plot bias alibi --heads 8 --out bias.svg
  locus plot attention rope --tokens "the cat sat on the mat" --causal \
    --out attention.png --theme dark

With --theme auto, SVG follows the light or dark theme of the viewer, and PNG is
light.)";

struct PlotFlags {
  CommonFlags common;
  std::string kind;
  // The scheme, and the tokens and layer of an attention chart.
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

FlagHints PlotHints() {
  return {{"positions", "--positions"},   {"dim", "--dim"},
          {"head_count", "--heads"},      {"module.head_count", "--heads"},
          {"module.dim", "--dim"},        {"module.tokens", "--tokens"},
          {"options.causal", "--causal"}, {"options.window", "--window"},
          {"scheme", "--scheme"}};
}

absl::Status ValidateFlags(const PlotFlags& flags) {
  if (std::find(Kinds().begin(), Kinds().end(), flags.kind) == Kinds().end()) {
    return UsageError(absl::StrCat("there is no kind \"", flags.kind, "\"",
                                   DidYouMean(flags.kind, Kinds()), " (kinds: ",
                                   absl::StrJoin(Kinds(), ", "), ")"));
  }
  if (flags.kind == "attention" && flags.attend.tokens.empty()) {
    return UsageError(
        "attention needs words, such as --tokens \"the cat sat\"");
  }
  if (flags.kind != "attention" && !flags.attend.tokens.empty()) {
    return UsageError(
        absl::StrCat("--tokens needs the kind attention, not ", flags.kind));
  }
  return absl::OkStatus();
}

absl::StatusOr<plot::Scene> DrawAttention(const PlotFlags& flags,
                                          const ChartOptions& options) {
  AttendFlags attend = flags.attend;
  attend.return_weights = true;
  CLIENT_ASSIGN_OR_RETURN(const AttendPlan plan, MakeAttendPlan(attend));
  CLIENT_ASSIGN_OR_RETURN(const Session session, OpenSession(flags.common));
  const absl::StatusOr<v1::AttendResponse> response =
      session.client->Attend(plan.request);
  if (!response.ok()) return WithFlagHint(response.status(), PlotHints());
  CLIENT_RETURN_IF_ERROR(CheckTensor(response->weights()));
  const auto& tokens = plan.request.module().tokens();
  return AttentionChart(options, {tokens.begin(), tokens.end()},
                        plan.request.options(), response->weights());
}

absl::Status CheckEncoding(const v1::EncodeResponse& response) {
  if (response.has_additive()) return CheckTensor(response.additive().table());
  if (response.has_bias()) return CheckTensor(response.bias().bias());
  if (!response.has_rotation()) return absl::OkStatus();
  CLIENT_RETURN_IF_ERROR(CheckTensor(response.rotation().cos()));
  return CheckTensor(response.rotation().sin());
}

absl::StatusOr<plot::Scene> DrawScheme(const PlotFlags& flags,
                                       const HfModel& model,
                                       ChartOptions options) {
  auto positions = ParsePositions(flags.positions);
  if (!positions.ok()) return AsUsage(positions.status(), "--positions");
  if (PositionCount(*positions) == 0) {
    return UsageError("--positions: is empty; give at least one position");
  }
  options.positions = *positions;
  v1::EncodeRequest request;
  *request.mutable_scheme() = model.scheme;
  *request.mutable_positions() = options.positions;
  const CallSizes sizes =
      SizesForEncoding(model, flags.attend.dim, flags.attend.head_count);
  request.set_dim(sizes.dim);
  request.set_head_count(sizes.head_count);
  CLIENT_ASSIGN_OR_RETURN(const Session session, OpenSession(flags.common));
  const absl::StatusOr<v1::EncodeResponse> response =
      session.client->Encode(request);
  if (!response.ok()) return WithFlagHint(response.status(), PlotHints());
  CLIENT_RETURN_IF_ERROR(CheckEncoding(*response));
  options.dim = request.dim();
  if (flags.kind == "heatmap") return HeatmapChart(options, *response);
  if (flags.kind == "similarity") return SimilarityChart(options, *response);
  if (flags.kind == "bias") return BiasChart(options, *response);
  return WaveformChart(options, *response, flags.channels);
}

absl::StatusOr<Outcome> Run(PlotFlags flags) {
  CLIENT_RETURN_IF_ERROR(ValidateFlags(flags));
  CLIENT_ASSIGN_OR_RETURN(
      const HfModel model,
      ReadModel(flags.attend.scheme, DirectionFor(flags.attend.causal)));
  if (flags.out.empty()) {
    flags.out = absl::StrCat(SchemeName(model.scheme), "-", flags.kind, ".svg");
  }
  const absl::StatusOr<plot::Format> format = plot::FormatOfPath(flags.out);
  if (!format.ok()) return AsUsage(format.status(), "--out");
  const absl::StatusOr<plot::Theme> theme = plot::ParseTheme(flags.theme);
  if (!theme.ok()) return AsUsage(theme.status(), "--theme");
  const ChartOptions options{.title = flags.title,
                             .scheme_name = SchemeName(model.scheme)};
  CLIENT_ASSIGN_OR_RETURN(const plot::Scene scene,
                          flags.kind == "attention"
                              ? DrawAttention(flags, options)
                              : DrawScheme(flags, model, options));
  CLIENT_ASSIGN_OR_RETURN(const std::string bytes,
                          plot::Render(scene, *format, *theme));
  if (flags.out == "-") return Outcome{.text = bytes};
  CLIENT_RETURN_IF_ERROR(*format == plot::Format::kSvg
                             ? WriteTextFile(flags.out, bytes)
                             : WriteFile(flags.out, bytes, ""));
  const bool is_layer = flags.kind == "attention";
  const std::string note =
      is_layer
          ? SizesForLayer(model, flags.attend.head_count).note
          : SizesForEncoding(model, flags.attend.dim, flags.attend.head_count)
                .note;
  return Outcome{.text = absl::StrCat("wrote ", flags.out,
                                      note.empty() ? "" : " ", note, "\n")};
}

void AddLayerFlags(CLI::App& command, PlotFlags& flags) {
  const auto add = [&command](const char* name, auto& target, const char* type,
                              const char* description) {
    return command.add_option(name, target, description)->type_name(type);
  };
  add("-p,--positions", flags.positions, "LIST",
      "Positions: 0:256, 0,5,9 or @ids.npy")
      ->capture_default_str();
  add("-d,--dim", flags.attend.dim, "N",
      "Width of the embeddings or of one head; default 64, or that of the "
      "configuration");
  add("--heads", flags.attend.head_count, "N",
      "Number of heads; default 8 for bias, 1 for attention, or those of the "
      "configuration");
  add("--channels", flags.channels, "LIST",
      "Channels or pairs of waveforms, such as 0,8,16")
      ->delimiter(',')
      ->allow_extra_args(false);
  add("-t,--tokens", flags.attend.tokens, "WORDS",
      "Words separated by spaces, for attention")
      ->group("Attention");
  command
      .add_flag("--causal", flags.attend.causal,
                "Hide keys after the query, and keep a bias one-sided")
      ->group("Attention");
  add("--window", flags.attend.window, "N",
      "Hide keys at a distance of N or more")
      ->group("Attention");
  AddSeedFlag(command, flags.attend.seed,
              "Seed of the random layer weights; default 0", "Attention");
}

}  // namespace

void AddPlot(CLI::App& app, Action& action) {
  CLI::App* command =
      app.add_subcommand("plot", "Draw a chart of a scheme as SVG or PNG");
  command->footer(kPlotExamples);
  auto flags = std::make_shared<PlotFlags>();
  command
      ->add_option(
          "kind", flags->kind,
          absl::StrCat("Kind of chart: ", absl::StrJoin(Kinds(), ", ")))
      ->type_name("KIND")
      ->required();
  AddSchemeFlags(*command, flags->attend.scheme);
  AddLayerFlags(*command, *flags);
  command
      ->add_option(
          "-o,--out,--output", flags->out,
          "File for the chart, .svg or .png; - is SVG on standard output; "
          "default: SCHEME-KIND.svg")
      ->type_name("FILE");
  command
      ->add_option("--theme", flags->theme,
                   "Theme of the chart: auto, light or dark")
      ->type_name("THEME")
      ->capture_default_str();
  command
      ->add_option("--title", flags->title,
                   "Title of the chart; default: derived from the scheme")
      ->type_name("TEXT");
  AddServiceFlags(*command, flags->common);
  command->callback(
      [flags, &action] { action = [flags] { return Run(*flags); }; });
}

}  // namespace locus::client
