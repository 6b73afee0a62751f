#include "client/cli/render/bias_charts.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "client/base/status_macros.h"
#include "client/cli/render/position_codes.h"
#include "client/plot/compose.h"
#include "client/plot/heatmap.h"
#include "client/plot/line_chart.h"
#include "client/plot/strips.h"
#include "locus/client/tensor.h"

namespace locus::client {
namespace {

constexpr double kNoValue = std::numeric_limits<double>::quiet_NaN();

// A bias [heads, count, count] and the ids of its queries and keys.
struct BiasValues {
  int64_t heads = 0;
  int64_t count = 0;
  std::vector<double> values;
  std::vector<int64_t> ids;

  double At(int64_t head, int64_t query, int64_t key) const {
    return values[(head * count + query) * count + key];
  }
};

absl::StatusOr<BiasValues> ReadBias(const ChartOptions& options,
                                    const v1::EncodeResponse& response) {
  if (!response.has_bias()) {
    return NotApplicable(options, response, "score bias");
  }
  const v1::Tensor& bias = response.bias().bias();
  BiasValues result;
  CLIENT_ASSIGN_OR_RETURN(result.values, ToDoubles(bias));
  result.ids = IdsOf(options.positions);
  result.count = static_cast<int64_t>(result.ids.size());
  if (bias.shape_size() != 3 || bias.shape(1) != result.count ||
      bias.shape(2) != result.count) {
    return absl::InternalError(absl::StrCat(
        "the bias sent by the server has shape ", ShapeName(bias)));
  }
  CLIENT_RETURN_IF_ERROR(CheckSide(result.count));
  result.heads = bias.shape(0);
  const int64_t size = result.count;
  for (size_t i = 0; options.causal && i < result.values.size(); ++i) {
    const auto index = static_cast<int64_t>(i);
    if (result.ids[index % size] > result.ids[index / size % size]) {
      result.values[i] = kNoValue;
    }
  }
  return result;
}

// "1/64" for a slope that is the inverse of an integer.
std::string SlopeText(double slope) {
  const double inverse = 1 / slope;
  if (inverse >= 2 && inverse < 1e9 &&
      std::abs(inverse - std::round(inverse)) < 1e-6 * inverse) {
    return absl::StrFormat("1/%.0f", inverse);
  }
  return plot::ShortNumber(slope);
}

// The parameters of a head: "m = 1/64 · halves every 44" for a slope, since the
// weight of a key is multiplied by exp(-m) per position, and others by name.
std::string HeadText(const v1::BiasEncoding& bias, int head) {
  std::vector<std::string> parts;
  if (head < bias.slopes_size()) {
    const double slope = bias.slopes(head);
    parts.push_back(absl::StrCat("m = ", SlopeText(slope)));
    if (slope > 0) {
      const double distance = std::log(2) / slope;
      parts.push_back(absl::StrFormat("halves every %.*f",
                                      distance < 10 ? 1 : 0, distance));
    }
  }
  for (const v1::HeadNumbers& numbers : bias.head_numbers()) {
    if (head >= numbers.values_size()) continue;
    parts.push_back(absl::StrCat(numbers.name(), " = ",
                                 plot::ShortNumber(numbers.values(head))));
  }
  return absl::StrJoin(parts, " \u00b7 ");
}

bool HasHiddenKeys(const BiasValues& bias) {
  return std::any_of(bias.values.begin(), bias.values.end(),
                     [](double value) { return !std::isfinite(value); });
}

// Whether all keys after a query have the same bias, as in a bias that is made
// for causal attention but defined everywhere.
bool IsConstantAfterQuery(const BiasValues& bias) {
  bool has_pairs = false;
  for (int64_t head = 0; head < bias.heads; ++head) {
    for (int64_t query = 0; query < bias.count; ++query) {
      double first = kNoValue;
      for (int64_t key = 0; key < bias.count; ++key) {
        if (bias.ids[key] <= bias.ids[query]) continue;
        const double value = bias.At(head, query, key);
        if (std::isnan(first)) {
          first = value;
        } else if (value != first) {
          return false;
        } else {
          has_pairs = true;
        }
      }
    }
  }
  return has_pairs;
}

std::string Explanation(const BiasValues& bias) {
  std::string text;
  if (bias.heads > 1) text = "Each head has its own colour scale.";
  const auto add = [&text](absl::string_view sentence) {
    absl::StrAppend(&text, text.empty() ? "" : " ", sentence);
  };
  if (HasHiddenKeys(bias)) {
    add("Grey: masked keys.");
  } else if (IsConstantAfterQuery(bias)) {
    add("Keys after the query all have one bias; causal attention masks them.");
  }
  return text;
}

// The row of a bias that is drawn as a curve.
struct Profile {
  int64_t query = 0;
  // The x axis: the distance to the keys before the query if later keys are
  // masked or all alike, otherwise the keys on both sides.
  bool by_distance = false;
};

Profile ProfileOf(const BiasValues& bias) {
  if (!HasHiddenKeys(bias) && !IsConstantAfterQuery(bias)) {
    return {.query = bias.count / 2, .by_distance = false};
  }
  const auto last = std::max_element(bias.ids.begin(), bias.ids.end());
  return {.query = last - bias.ids.begin(), .by_distance = true};
}

// The bias of one query over the keys, in the order of the x axis.
plot::Curve CurveOfHead(const BiasValues& bias, int64_t head,
                        const Profile& profile, bool as_factor) {
  plot::Curve curve{.name = absl::StrCat("head ", head),
                    .series = static_cast<int>(head)};
  const int64_t query = profile.query;
  for (int64_t key = 0; key < bias.count; ++key) {
    const double value = bias.At(head, query, key);
    if (!std::isfinite(value)) continue;
    const int64_t x =
        profile.by_distance ? bias.ids[query] - bias.ids[key] : bias.ids[key];
    const double y = as_factor ? std::exp(value) : value;
    curve.points.push_back({static_cast<double>(x), y, y, y});
  }
  std::stable_sort(curve.points.begin(), curve.points.end(),
                   [](const auto& a, const auto& b) { return a.x < b.x; });
  return curve;
}

// Up to `wanted` heads, evenly from the first to the last.
std::vector<int64_t> ChooseHeads(int64_t count, int64_t wanted) {
  std::vector<int64_t> heads;
  for (int64_t i = 0; i < std::min(count, wanted); ++i) {
    heads.push_back(count <= wanted ? i : i * (count - 1) / (wanted - 1));
  }
  return heads;
}

plot::Scene ProfileChart(const ChartOptions& options, const BiasValues& bias,
                         bool as_factor, double width) {
  constexpr int64_t kMaxHeads = 8;
  const Profile profile = ProfileOf(bias);
  plot::LineChart chart{
      .title = as_factor
                   ? "Factor exp(bias) on the weights"
                   : absl::StrCat("Bias of query ", bias.ids[profile.query]),
      .x_label = profile.by_distance ? "distance of the key" : "key",
      .y_label = as_factor ? "factor" : "bias",
      .markers = bias.count <= 16,
      .width = width,
      .height = 270,
      .title_size = plot::kPanelTitleSize};
  if (!profile.by_distance) chart.x_ticks = IdTicks(options.positions);
  for (const int64_t head : ChooseHeads(bias.heads, kMaxHeads)) {
    chart.curves.push_back(CurveOfHead(bias, head, profile, as_factor));
  }
  return plot::DrawLineChart(chart);
}

}  // namespace

absl::StatusOr<plot::Scene> BiasChart(const ChartOptions& options,
                                      const v1::EncodeResponse& response) {
  CLIENT_ASSIGN_OR_RETURN(const BiasValues bias, ReadBias(options, response));
  std::vector<plot::Heatmap> panels =
      HeadPanels(bias.values, bias.heads, bias.count, bias.count);
  for (size_t head = 0; head < panels.size(); ++head) {
    plot::Heatmap& panel = panels[head];
    panel.row_ids = panel.column_ids = bias.ids;
    panel.subtitle = HeadText(response.bias(), static_cast<int>(head));
    CLIENT_ASSIGN_OR_RETURN(panel, SelectedPart(options, panel));
  }
  const plot::Scene maps = plot::DrawHeatmaps(
      {.panels = std::move(panels),
       .panels_per_row = plot::BalancedColumns(static_cast<int>(bias.heads), 4),
       .map = plot::ColorMap::kDiverging,
       .range_per_panel = bias.heads > 1,
       .value_label = "bias",
       .row_label = "query",
       .column_label = "key"});
  const double width = std::max(maps.width, 700.0);
  const plot::Scene profiles =
      plot::Compose({.panels = {ProfileChart(options, bias, false, width / 2),
                                ProfileChart(options, bias, true, width / 2)},
                     .columns = 2});
  return plot::Compose(
      {.title = TitleOr(options,
                        absl::StrCat("Score bias of ", TitleOfScheme(options))),
       .note = NoteWith(options, Explanation(bias)),
       .description = absl::StrCat("The bias of ", bias.heads,
                                   " heads for every query and key."),
       .panels = {maps, profiles}});
}

absl::StatusOr<plot::Scene> BiasOverlay(
    const ChartOptions& options, const std::vector<ChartScheme>& schemes) {
  constexpr int64_t kMaxHeads = 8;
  std::vector<BiasValues> all;
  int64_t heads = std::numeric_limits<int64_t>::max();
  for (const ChartScheme& scheme : schemes) {
    CLIENT_ASSIGN_OR_RETURN(BiasValues bias,
                            ReadBias(scheme.options, scheme.response));
    heads = std::min(heads, bias.heads);
    all.push_back(std::move(bias));
  }
  // All schemes are drawn by distance only if all are one-sided.
  Profile profile = ProfileOf(all.front());
  for (const BiasValues& bias : all) {
    if (!ProfileOf(bias).by_distance) profile = ProfileOf(bias);
  }
  plot::StripChart chart{
      .title = TitleOr(options, "Score bias"),
      .x_label = profile.by_distance ? "distance of the key" : "key",
      .strip_height = 90};
  if (!profile.by_distance) chart.x_ticks = IdTicks(options.positions);
  for (const int64_t head : ChooseHeads(heads, kMaxHeads)) {
    plot::Strip strip{.name = absl::StrCat("head ", head)};
    for (size_t i = 0; i < all.size(); ++i) {
      plot::Curve curve = CurveOfHead(all[i], head, profile, false);
      curve.name = TitleOfScheme(schemes[i].options);
      curve.series = static_cast<int>(i);
      strip.curves.push_back(std::move(curve));
    }
    chart.strips.push_back(std::move(strip));
  }
  for (size_t i = 0; i < schemes.size(); ++i) {
    chart.legend.push_back(
        {TitleOfScheme(schemes[i].options), static_cast<int>(i)});
  }
  chart.description =
      absl::StrCat("The bias of query ", all.front().ids[profile.query],
                   " for the keys that it sees.");
  chart.note = NoteWith(options, chart.description);
  return plot::DrawStrips(chart);
}

}  // namespace locus::client
