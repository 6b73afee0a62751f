// The kinds of charts of `locus plot`.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "client/cli/render/chart_options.h"
#include "client/plot/scene.h"

namespace locus::client {

// Settings of a chart that do not belong to a scheme.
struct PlotChoices {
  // Empty: a title derived from the schemes.
  std::string title;
  // Empty: chosen by the chart.
  std::vector<int64_t> channels;
};

// A kind of chart that is drawn from responses of Encode.
struct PlotKind {
  const char* name;
  // The flags that the kind uses, apart from those that all kinds use.
  std::set<std::string> flags;
  // Default of --positions.
  const char* positions;
  std::function<absl::StatusOr<plot::Scene>(const PlotChoices&,
                                            const std::vector<ChartScheme>&)>
      draw;
};

// Returns the kind with that name; null for attention, which is drawn from a
// response of Attend, and for unknown names.
const PlotKind* FindPlotKind(const std::string& name);

// The names of all kinds.
std::vector<std::string> PlotKindNames();

// The flags that a kind uses, apart from those that all kinds use.
const std::set<std::string>& FlagsOfPlotKind(const std::string& name);

// Joins pictures of several schemes; returns a single picture unchanged. Each
// keeps its own title.
plot::Scene SideBySide(const std::string& title,
                       std::vector<plot::Scene> panels);

}  // namespace locus::client
