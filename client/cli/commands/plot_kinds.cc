#include "client/cli/commands/plot_kinds.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "client/base/status_macros.h"
#include "client/cli/render/bias_charts.h"
#include "client/cli/render/encoding_charts.h"
#include "client/cli/render/wave_charts.h"
#include "client/plot/compose.h"

namespace locus::client {
namespace {

using Schemes = std::vector<ChartScheme>;

// Settings of the whole chart: those of the first scheme, without its details
// if there are several.
ChartOptions CommonOptions(const PlotChoices& choices, const Schemes& schemes) {
  ChartOptions options = schemes.front().options;
  options.title = choices.title;
  if (schemes.size() > 1) options.details = "";
  return options;
}

// Draws one picture for each scheme, side by side.
template <typename Draw>
absl::StatusOr<plot::Scene> DrawEach(const PlotChoices& choices,
                                     const Schemes& schemes, Draw draw) {
  std::vector<plot::Scene> panels;
  for (ChartScheme scheme : schemes) {
    if (schemes.size() > 1) scheme.options.title = "";
    CLIENT_ASSIGN_OR_RETURN(plot::Scene panel, draw(scheme));
    panels.push_back(std::move(panel));
  }
  return SideBySide(choices.title, std::move(panels));
}

// Draws each scheme with a function of its options and its response.
template <typename Chart>
auto EachScheme(Chart chart) {
  return [chart](const PlotChoices& choices, const Schemes& schemes) {
    return DrawEach(choices, schemes, [&](const ChartScheme& scheme) {
      return chart(scheme.options, scheme.response);
    });
  };
}

// Draws each scheme with a function that takes channels too.
template <typename Chart>
auto EachWithChannels(Chart chart) {
  return [chart](const PlotChoices& choices, const Schemes& schemes) {
    return DrawEach(choices, schemes, [&](const ChartScheme& scheme) {
      return chart(scheme.options, scheme.response, choices.channels);
    });
  };
}

// Draws all schemes with one call.
template <typename Chart>
auto AllSchemes(Chart chart) {
  return [chart](const PlotChoices& choices, const Schemes& schemes) {
    return chart(CommonOptions(choices, schemes), schemes);
  };
}

absl::StatusOr<plot::Scene> DrawWaveforms(const PlotChoices& choices,
                                          const Schemes& schemes) {
  CLIENT_ASSIGN_OR_RETURN(plot::StripChart chart,
                          WaveformStrips(schemes, choices.channels));
  if (schemes.size() > 1 && choices.title.empty()) chart.title = "Waveforms";
  return plot::DrawStrips(chart);
}

absl::StatusOr<plot::Scene> DrawBias(const PlotChoices& choices,
                                     const Schemes& schemes) {
  if (schemes.size() > 1) {
    return BiasOverlay(CommonOptions(choices, schemes), schemes);
  }
  return BiasChart(schemes.front().options, schemes.front().response);
}

const std::vector<PlotKind>& EncodingKinds() {
  static const auto* const kinds = new std::vector<PlotKind>{
      {"heatmap",
       {"positions", "dim", "rows", "columns"},
       "0:128",
       EachScheme(HeatmapChart)},
      {"similarity",
       {"positions", "dim", "rows", "columns"},
       "0:128",
       EachScheme(SimilarityChart)},
      {"triptych",
       {"positions", "dim", "rows", "columns", "channels"},
       "0:128",
       EachWithChannels(TriptychChart)},
      {"waveforms", {"positions", "dim", "channels"}, "0:128", DrawWaveforms},
      {"decay", {"positions", "dim"}, "0:256", AllSchemes(DecayChart)},
      {"wavelengths",
       {"dim", "trained", "target"},
       "0:1",
       AllSchemes(WavelengthChart)},
      {"clocks",
       {"positions", "dim", "channels", "trained", "target"},
       "0:8",
       EachWithChannels(ClockChart)},
      {"bias",
       {"positions", "heads", "causal", "rows", "columns"},
       "0:128",
       DrawBias}};
  return *kinds;
}

}  // namespace

const PlotKind* FindPlotKind(const std::string& name) {
  for (const PlotKind& kind : EncodingKinds()) {
    if (kind.name == name) return &kind;
  }
  return nullptr;
}

std::vector<std::string> PlotKindNames() {
  std::vector<std::string> names;
  for (const PlotKind& kind : EncodingKinds()) names.push_back(kind.name);
  names.push_back("attention");
  return names;
}

const std::set<std::string>& FlagsOfPlotKind(const std::string& name) {
  static const auto* const attention = new std::set<std::string>{
      "tokens", "dim", "heads", "causal", "window", "seed"};
  const PlotKind* kind = FindPlotKind(name);
  return kind == nullptr ? *attention : kind->flags;
}

plot::Scene SideBySide(const std::string& title,
                       std::vector<plot::Scene> panels) {
  if (panels.size() == 1) return std::move(panels.front());
  plot::Figure figure{
      .title = title,
      .columns = plot::BalancedColumns(static_cast<int>(panels.size()), 2)};
  for (const plot::Scene& panel : panels) {
    absl::StrAppend(&figure.description, figure.description.empty() ? "" : "; ",
                    panel.title);
  }
  figure.panels = std::move(panels);
  plot::Scene scene = plot::Compose(figure);
  if (scene.title.empty()) scene.title = figure.description;
  return scene;
}

}  // namespace locus::client
