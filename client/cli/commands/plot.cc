#include <algorithm>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "CLI/CLI.hpp"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/base/status_macros.h"
#include "client/cli/commands/command.h"
#include "client/cli/commands/plot_kinds.h"
#include "client/cli/render/encoding_charts.h"
#include "client/cli/render/picture_file.h"
#include "client/cli/render/scheme_title.h"
#include "client/cli/requests/attend_request.h"
#include "client/cli/requests/positions.h"
#include "client/cli/requests/scheme_flags.h"
#include "client/cli/requests/scheme_sizes.h"
#include "client/cli/requests/scheme_text.h"
#include "client/cli/requests/seed_flag.h"
#include "client/cli/support/cli_errors.h"
#include "client/cli/support/session.h"
#include "client/cli/support/terminal.h"
#include "client/io/file.h"
#include "core/base/suggest.h"
#include "locus/client/tensor.h"

namespace locus::client {
namespace {

constexpr char kPlotExamples[] = R"(Examples:
  locus plot heatmap sinusoidal --dim 128 --columns 0:64
  locus plot triptych sinusoidal --dim 128 --channels 0,1,10,20,50
  locus plot similarity rope --positions 0:256 --out similarity.png
  locus plot clocks rope:yarn.factor=4 --out clocks.svg
  locus plot decay rope rope:yarn.factor=4 --positions 0:512
  locus plot bias alibi --heads 8 --out bias.svg
  locus plot attention rope --tokens "the cat sat on the mat" --causal \
    --out attention.png --theme dark

Kinds:
  heatmap      the table that is added to embeddings
  similarity   the cosine between the codes of two positions; for rotations,
               between a vector of ones rotated for either position
  triptych     heatmap, similarity and waveforms in one picture
  waveforms    channels over positions; for rotations, cosine and sine of pairs
  decay        the cosine between the first position and others, by distance
  wavelengths  positions for a turn of each pair
  clocks       the angle of pairs at each position; with --trained and --target,
               the angles that training covers
  bias         the bias added to the scores, one panel per head
  attention    the attention weights among words, one panel per head

Several schemes share the axes of waveforms, decay, wavelengths and bias, and
are drawn side by side otherwise. With --theme auto, SVG follows the light or
dark theme of the viewer, and PNG is light. Every picture contains the command
that made it.)";

constexpr size_t kMaxSchemes = 8;

struct PlotFlags {
  CommonFlags common;
  std::string kind;
  std::vector<std::string> schemes;
  std::vector<std::string> configs;
  // The tokens and layer of an attention chart, and flags that all kinds share.
  AttendFlags attend;
  std::string positions;
  std::vector<int64_t> channels;
  std::string rows;
  std::string columns;
  int64_t trained_length = 0;
  double target_length = 0;
  std::string out;
  std::string theme = "auto";
  std::string title;
  // The names of the flags on the command line.
  std::set<std::string> given;
};

FlagHints PlotHints() {
  return {{"positions", "--positions"},    {"dim", "--dim"},
          {"head_count", "--heads"},       {"module.head_count", "--heads"},
          {"module.dim", "--dim"},         {"module.tokens", "--tokens"},
          {"options.causal", "--causal"},  {"options.window", "--window"},
          {"trained_length", "--trained"}, {"target_length", "--target"},
          {"scheme", "--scheme"}};
}

// Rejects flags that the kind would ignore.
absl::Status CheckApplicable(const PlotFlags& flags) {
  const std::set<std::string>& used = FlagsOfPlotKind(flags.kind);
  std::set<std::string> special;
  for (const std::string& kind : PlotKindNames()) {
    const std::set<std::string>& each = FlagsOfPlotKind(kind);
    special.insert(each.begin(), each.end());
  }
  for (const std::string& flag : flags.given) {
    if (special.count(flag) == 0 || used.count(flag) > 0) continue;
    std::vector<std::string> names;
    for (const std::string& name : used) names.push_back("--" + name);
    return UsageError(absl::StrCat("--", flag, " does not apply to ",
                                   flags.kind, ", which uses ",
                                   absl::StrJoin(names, ", ")));
  }
  return absl::OkStatus();
}

absl::Status ValidateFlags(const PlotFlags& flags) {
  const std::vector<std::string> kinds = PlotKindNames();
  if (std::find(kinds.begin(), kinds.end(), flags.kind) == kinds.end()) {
    return UsageError(absl::StrCat(
        "there is no kind \"", flags.kind, "\"", DidYouMean(flags.kind, kinds),
        " (kinds: ", absl::StrJoin(kinds, ", "), ")"));
  }
  if (flags.kind == "attention" && flags.attend.tokens.empty()) {
    return UsageError(
        "attention needs words, such as --tokens \"the cat sat\"");
  }
  const size_t count = flags.schemes.size() + flags.configs.size();
  if (count == 0) {
    return UsageError(
        "a scheme is required, such as rope (see `locus schemes`)");
  }
  if (count > kMaxSchemes) {
    return UsageError(absl::StrCat(count,
                                   " schemes are too many for a chart; "
                                   "the maximum is ",
                                   kMaxSchemes));
  }
  if (flags.trained_length < 0) {
    return UsageError("--trained must not be negative");
  }
  if (!(flags.target_length >= 0)) {
    return UsageError("--target must not be negative");
  }
  return CheckApplicable(flags);
}

// The flags of each scheme.
std::vector<SchemeFlags> EachSchemeFlags(const PlotFlags& flags) {
  std::vector<SchemeFlags> each;
  for (const std::string& scheme : flags.schemes) {
    each.push_back({.scheme = scheme, .table = flags.attend.scheme.table});
  }
  for (const std::string& config : flags.configs) {
    each.push_back({.table = flags.attend.scheme.table, .hf_config = config});
  }
  return each;
}

// Parses a range of indices such as 0:64.
absl::StatusOr<std::optional<plot::IndexRange>> ParseIndices(
    const std::string& text, absl::string_view flag) {
  if (text.empty()) return std::nullopt;
  const absl::StatusOr<v1::Positions> range = ParsePositions(text);
  if (!range.ok()) return AsUsage(range.status(), flag);
  if (!range->has_range() || range->range().count() == 0) {
    return UsageError(
        absl::StrCat(flag, ": \"", text, "\" must be a range such as 0:64"));
  }
  return plot::IndexRange{range->range().start(),
                          range->range().start() + range->range().count()};
}

// Settings of the chart of one scheme.
ChartOptions OptionsOf(const PlotFlags& flags, const v1::Scheme& scheme,
                       const v1::ListSchemesResponse& list,
                       const SchemeSizes& sizes) {
  const std::string name = SchemeName(scheme);
  const v1::SchemeDescription* description = nullptr;
  for (const v1::SchemeDescription& each : list.schemes()) {
    if (each.name() == name) description = &each;
  }
  return {.title = flags.title,
          .scheme_name = name,
          .scheme_title = SchemeTitle(scheme, description),
          .details = SchemeDetails(scheme, description, sizes),
          .dim = sizes.dim,
          .causal = flags.attend.causal,
          .trained_length = static_cast<double>(flags.trained_length),
          .target_length = flags.target_length};
}

// A chart, and what the command says about it.
struct Drawing {
  plot::Scene scene;
  // The names of the schemes, for the file.
  std::vector<std::string> names;
  // Sizes that come from a configuration; may be empty.
  std::string note;

  // Adds the name and the note of a scheme unless they are there.
  void Include(const std::string& name, const std::string& sizes_note) {
    if (std::find(names.begin(), names.end(), name) == names.end()) {
      names.push_back(name);
    }
    if (sizes_note.empty() || absl::StrContains(note, sizes_note)) return;
    absl::StrAppend(&note, note.empty() ? "" : " ", sizes_note);
  }
};

// A chart of one scheme's attention weights.
absl::StatusOr<plot::Scene> DrawAttention(const PlotFlags& flags,
                                          const SchemeFlags& scheme,
                                          const v1::ListSchemesResponse& list,
                                          Client& client, Drawing& drawing) {
  AttendFlags attend = flags.attend;
  attend.scheme = scheme;
  attend.return_weights = true;
  CLIENT_ASSIGN_OR_RETURN(const AttendPlan plan, MakeAttendPlan(attend));
  drawing.Include(SchemeName(plan.request.scheme()), plan.sizes_note);
  const absl::StatusOr<v1::AttendResponse> response =
      client.Attend(plan.request);
  if (!response.ok()) return WithFlagHint(response.status(), PlotHints());
  CLIENT_RETURN_IF_ERROR(CheckTensor(response->weights()));
  const v1::AttentionModule& module = plan.request.module();
  ChartOptions options =
      OptionsOf(flags, plan.request.scheme(), list,
                {.dim = module.dim() > 0 ? module.dim() : kDefaultDim,
                 .head_count = module.head_count()});
  absl::StrAppend(&options.details, options.details.empty() ? "" : " \u00b7 ",
                  "layer of seed ", attend.seed.value_or(0));
  return AttentionChart(options,
                        {module.tokens().begin(), module.tokens().end()},
                        plan.request.options(), response->weights());
}

absl::StatusOr<Drawing> DrawAttentions(const PlotFlags& flags,
                                       const v1::ListSchemesResponse& list,
                                       Client& client) {
  const std::vector<SchemeFlags> each = EachSchemeFlags(flags);
  PlotFlags panel_flags = flags;
  if (each.size() > 1) panel_flags.title = "";
  Drawing drawing;
  std::vector<plot::Scene> panels;
  for (const SchemeFlags& scheme : each) {
    CLIENT_ASSIGN_OR_RETURN(
        plot::Scene panel,
        DrawAttention(panel_flags, scheme, list, client, drawing));
    panels.push_back(std::move(panel));
  }
  drawing.scene = SideBySide(flags.title, std::move(panels));
  return drawing;
}

absl::Status CheckEncoding(const v1::EncodeResponse& response) {
  if (response.has_additive()) return CheckTensor(response.additive().table());
  if (response.has_bias()) return CheckTensor(response.bias().bias());
  if (!response.has_rotation()) return absl::OkStatus();
  CLIENT_RETURN_IF_ERROR(CheckTensor(response.rotation().cos()));
  return CheckTensor(response.rotation().sin());
}

// The request for one scheme. Flags take precedence over the configuration.
v1::EncodeRequest RequestOf(const PlotFlags& flags, const HfModel& model,
                            const v1::Positions& positions) {
  v1::EncodeRequest request;
  *request.mutable_scheme() = model.scheme;
  *request.mutable_positions() = positions;
  const CallSizes sizes =
      SizesForEncoding(model, flags.attend.dim, flags.attend.head_count);
  request.set_dim(sizes.dim);
  request.set_head_count(sizes.head_count);
  const bool has_flags = flags.trained_length > 0 || flags.target_length > 0;
  const int64_t trained =
      has_flags ? flags.trained_length : model.trained_length;
  const double target = has_flags ? flags.target_length
                                  : static_cast<double>(model.target_length);
  if (trained > 0) request.set_trained_length(trained);
  if (target > 0) request.set_target_length(target);
  return request;
}

// The widths that a response has, for the subtitle.
SchemeSizes SizesOf(const v1::EncodeRequest& request,
                    const v1::EncodeResponse& response) {
  SchemeSizes sizes;
  if (response.has_rotation()) sizes.dim = request.dim();
  if (response.additive().table().shape_size() == 2) {
    sizes.dim = response.additive().table().shape(1);
  }
  if (response.bias().bias().shape_size() == 3) {
    sizes.head_count = response.bias().bias().shape(0);
  }
  return sizes;
}

absl::StatusOr<Drawing> DrawSchemes(const PlotFlags& flags,
                                    const v1::ListSchemesResponse& list,
                                    Client& client) {
  Drawing drawing;
  const PlotKind& kind = *FindPlotKind(flags.kind);
  auto positions = ParsePositions(flags.positions.empty() ? kind.positions
                                                          : flags.positions);
  if (!positions.ok()) return AsUsage(positions.status(), "--positions");
  if (PositionCount(*positions) == 0) {
    return UsageError("--positions: is empty; give at least one position");
  }
  CLIENT_ASSIGN_OR_RETURN(const auto rows, ParseIndices(flags.rows, "--rows"));
  CLIENT_ASSIGN_OR_RETURN(const auto columns,
                          ParseIndices(flags.columns, "--columns"));
  std::vector<ChartScheme> schemes;
  for (const SchemeFlags& each : EachSchemeFlags(flags)) {
    CLIENT_ASSIGN_OR_RETURN(const HfModel model,
                            ReadModel(each, DirectionFor(flags.attend.causal)));
    const v1::EncodeRequest request = RequestOf(flags, model, *positions);
    absl::StatusOr<v1::EncodeResponse> response = client.Encode(request);
    if (!response.ok()) return WithFlagHint(response.status(), PlotHints());
    CLIENT_RETURN_IF_ERROR(CheckEncoding(*response));
    ChartOptions options =
        OptionsOf(flags, model.scheme, list, SizesOf(request, *response));
    options.positions = *positions;
    options.rows = rows;
    options.columns = columns;
    drawing.Include(
        options.scheme_name,
        SizesForEncoding(model, flags.attend.dim, flags.attend.head_count)
            .note);
    schemes.push_back({std::move(options), *std::move(response)});
  }
  CLIENT_ASSIGN_OR_RETURN(
      drawing.scene,
      kind.draw({.title = flags.title, .channels = flags.channels}, schemes));
  return drawing;
}

absl::StatusOr<Outcome> Run(const PlotFlags& flags) {
  CLIENT_RETURN_IF_ERROR(ValidateFlags(flags));
  CLIENT_ASSIGN_OR_RETURN(PictureFile file,
                          ReadPictureFile(flags.out.empty() ? "-" : flags.out,
                                          flags.theme, "--out"));
  CLIENT_ASSIGN_OR_RETURN(const Session session, OpenSession(flags.common));
  CLIENT_ASSIGN_OR_RETURN(const v1::ListSchemesResponse list,
                          session.client->ListSchemes());
  CLIENT_ASSIGN_OR_RETURN(Drawing drawing,
                          flags.kind == "attention"
                              ? DrawAttentions(flags, list, *session.client)
                              : DrawSchemes(flags, list, *session.client));
  if (flags.out.empty()) {
    file.path = absl::StrCat(absl::StrJoin(drawing.names, "-"), "-", flags.kind,
                             ".svg");
  }
  CLIENT_ASSIGN_OR_RETURN(const std::string bytes,
                          RenderPicture(std::move(drawing.scene), file));
  if (file.path == "-") return Outcome{.text = bytes};
  CLIENT_RETURN_IF_ERROR(file.format == plot::Format::kSvg
                             ? WriteTextFile(file.path, bytes)
                             : WriteFile(file.path, bytes, ""));
  return Outcome{.text = absl::StrCat("wrote ", file.path,
                                      drawing.note.empty() ? "" : " ",
                                      drawing.note, "\n")};
}

void AddSelectionFlags(CLI::App& command, PlotFlags& flags) {
  const auto add = [&command](const char* name, auto& target, const char* type,
                              const char* description) {
    return command.add_option(name, target, description)->type_name(type);
  };
  add("-p,--positions", flags.positions, "LIST",
      "Positions: 0:256, 0,5,9 or @ids.npy; default 0:128, for decay 0:256, "
      "for clocks 0:8");
  add("-d,--dim", flags.attend.dim, "N",
      "Width of the embeddings or of one head; default 64, or that of the "
      "configuration");
  add("--heads", flags.attend.head_count, "N",
      "Number of heads; default 8 for bias, 1 for attention, or those of the "
      "configuration");
  add("--channels", flags.channels, "LIST",
      "Channels of waveforms and triptych, pairs of clocks, such as 0,8,16")
      ->delimiter(',')
      ->allow_extra_args(false);
  add("--rows", flags.rows, "RANGE", "Rows of a heatmap, such as 0:50");
  add("--columns", flags.columns, "RANGE",
      "Columns of a heatmap, such as 0:64");
  add("--trained", flags.trained_length, "N",
      "Training length, for wavelengths and clocks; default: that of the "
      "scaling or the configuration");
  add("--target", flags.target_length, "N",
      "Target length; default: the training length times the scaling factor");
  command.add_flag("--causal", flags.attend.causal,
                   "Hide keys after the query, and keep a bias one-sided");
  add("-t,--tokens", flags.attend.tokens, "WORDS",
      "Words separated by spaces, for attention")
      ->group("Attention");
  add("--window", flags.attend.window, "N",
      "Hide keys at a distance of N or more")
      ->group("Attention");
  AddSeedFlag(command, flags.attend.seed,
              "Seed of the random layer weights; default 0", "Attention");
}

void AddOutputFlags(CLI::App& command, PlotFlags& flags) {
  command
      .add_option("-o,--out,--output", flags.out,
                  "File for the chart, .svg or .png; - is SVG on standard "
                  "output; default: SCHEME-KIND.svg")
      ->type_name("FILE");
  command
      .add_option("--theme", flags.theme,
                  "Theme of the chart: auto, light or dark")
      ->type_name("THEME")
      ->capture_default_str();
  command
      .add_option("--title", flags.title,
                  "Title of the chart; default: derived from the scheme")
      ->type_name("TEXT");
}

}  // namespace

void AddPlot(CLI::App& app, Action& action) {
  CLI::App* command =
      app.add_subcommand("plot", "Draw a chart of schemes as SVG or PNG");
  command->footer(kPlotExamples);
  auto flags = std::make_shared<PlotFlags>();
  command
      ->add_option(
          "kind", flags->kind,
          absl::StrCat("Kind of chart: ", absl::StrJoin(PlotKindNames(), ", ")))
      ->type_name("KIND")
      ->required();
  AddSchemesFlag(*command, flags->schemes,
                 "Schemes, such as rope or rope:base=500000 (see `locus "
                 "schemes`), or a model's config.json");
  AddConfigsFlag(*command, flags->configs);
  command
      ->add_option("--table", flags->attend.scheme.table,
                   "Table of the schemes, for learned and t5_bias")
      ->type_name("NPY");
  AddSelectionFlags(*command, *flags);
  AddOutputFlags(*command, *flags);
  AddServiceFlags(*command, flags->common);
  command->callback([command, flags, &action] {
    for (const CLI::Option* option : command->get_options()) {
      if (option->count() == 0) continue;
      for (const std::string& name : option->get_lnames()) {
        flags->given.insert(name);
      }
    }
    action = [flags] { return Run(*flags); };
  });
}

}  // namespace locus::client
