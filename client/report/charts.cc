#include "client/report/charts.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <map>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/base/status_macros.h"
#include "client/report/metric.h"
#include "locus/client/tensor.h"

namespace locus::client {
namespace {

bool DidNotLearn(const Manifest& manifest, const std::string& scheme) {
  const v1::EvaluationGate* gate = FindGate(manifest, scheme);
  return gate != nullptr && !gate->passed();
}

std::string NameInChart(const Manifest& manifest, const std::string& scheme) {
  return DidNotLearn(manifest, scheme) ? absl::StrCat(scheme, " (not learned)")
                                       : scheme;
}

std::string MarkOf(const Manifest& manifest) {
  return absl::StrCat(manifest.is_pattern() ? "built for " : "trained up to ",
                      manifest.train_length);
}

plot::CurvePoint PointOf(double x, const v1::EvaluationRow& row) {
  return {x, row.mean(), row.ci_low(), row.ci_high()};
}

bool HasPoints(const plot::LineChart& chart) {
  for (const plot::Curve& curve : chart.curves) {
    for (const plot::CurvePoint& point : curve.points) {
      if (plot::IsDrawable(point.y)) return true;
    }
  }
  return false;
}

// Whether the values differ so much that a linear axis would compress the
// smaller ones into one line.
bool NeedsLog(const plot::LineChart& chart) {
  double low = std::numeric_limits<double>::infinity();
  double high = 0;
  for (const plot::Curve& curve : chart.curves) {
    for (const plot::CurvePoint& point : curve.points) {
      if (!plot::IsDrawable(point.y)) continue;
      low = std::min(low, point.y);
      high = std::max(high, point.y);
    }
  }
  return low > 0 && high > 6 * low;
}

// Returns a description for screen readers.
std::string Description(const plot::LineChart& chart) {
  std::vector<std::string> parts;
  for (const plot::Curve& curve : chart.curves) {
    if (curve.points.empty()) continue;
    const plot::CurvePoint& first = curve.points.front();
    const plot::CurvePoint& last = curve.points.back();
    parts.push_back(absl::StrCat(
        curve.name, " from ", plot::ShortNumber(first.y), " at ",
        plot::ShortNumber(first.x), " to ", plot::ShortNumber(last.y), " at ",
        plot::ShortNumber(last.x)));
  }
  return absl::StrCat(chart.title, ": ", absl::StrJoin(parts, "; "), ".");
}

std::string Note(const Metric& metric, bool has_intervals) {
  std::string note = metric.meaning;
  const auto add = [&note](absl::string_view sentence) {
    absl::StrAppend(&note, note.empty() ? "" : " ", sentence);
  };
  if (metric.better == Better::kLess) add("Lower is better.");
  if (metric.better == Better::kMore) add("Higher is better.");
  if (has_intervals)
    add("Bands are 95 % confidence intervals over seeds, cut at the frame.");
  return note;
}

bool HasIntervals(const plot::LineChart& chart) {
  for (const plot::Curve& curve : chart.curves) {
    for (const plot::CurvePoint& point : curve.points) {
      if (point.high > point.low) return true;
    }
  }
  return false;
}

// Adds a curve for each scheme; points(scheme) returns its points.
template <typename Points>
void AddCurves(const Manifest& manifest, Points points,
               plot::LineChart& chart) {
  const std::vector<std::string> schemes = SchemesOf(manifest);
  for (size_t i = 0; i < schemes.size(); ++i) {
    plot::Curve curve{.name = NameInChart(manifest, schemes[i]),
                      .points = points(schemes[i]),
                      .series = static_cast<int>(i),
                      .pale = DidNotLearn(manifest, schemes[i])};
    if (!curve.points.empty()) chart.curves.push_back(std::move(curve));
  }
}

plot::LineChart OverLengths(const Manifest& manifest, const std::string& name) {
  const Metric metric = MetricOf(name);
  const std::vector<int64_t> lengths = LengthsOf(manifest);
  plot::LineChart chart{.title = metric.title,
                        .x_label = "tokens",
                        .y_label = metric.unit,
                        .x_ticks = {lengths.begin(), lengths.end()},
                        .log_x = true,
                        .marked_x = static_cast<double>(manifest.train_length),
                        .marked_label = MarkOf(manifest)};
  AddCurves(
      manifest,
      [&](const std::string& scheme) {
        std::vector<plot::CurvePoint> points;
        for (const int64_t length : lengths) {
          if (const auto* row = FindRow(manifest, scheme, length, name)) {
            points.push_back(PointOf(static_cast<double>(length), *row));
          }
        }
        return points;
      },
      chart);
  chart.log_y = metric.better == Better::kLess && NeedsLog(chart);
  if (chart.log_y) absl::StrAppend(&chart.y_label, ", logarithmic");
  if (metric.is_share) chart.y_range = plot::Interval{0, 1};
  if (metric.chance.has_value()) {
    chart.reference = metric.chance;
    chart.reference_label = "chance";
  }
  chart.note = Note(metric, HasIntervals(chart));
  chart.description = Description(chart);
  return chart;
}

// Returns the bucket metrics at a length, by the beginning of their range.
std::map<double, std::string> Buckets(const Manifest& manifest,
                                      int64_t length) {
  std::map<double, std::string> buckets;
  for (const v1::EvaluationRow& row : manifest.summary.rows()) {
    if (row.eval_length() != length) continue;
    if (const auto bucket = BucketOf(row.metric())) {
      buckets[bucket->begin] = row.metric();
    }
  }
  return buckets;
}

plot::LineChart OverPositions(const Manifest& manifest, int64_t length) {
  const std::map<double, std::string> buckets = Buckets(manifest, length);
  plot::LineChart chart{
      .title = absl::StrCat("Loss by position within ", length, " tokens"),
      .x_label = "positions up to",
      .y_label = MetricOf("nll").unit,
      .log_x = true,
      .marked_x = static_cast<double>(manifest.train_length),
      .marked_label = MarkOf(manifest)};
  for (const auto& [begin, metric] : buckets) {
    chart.x_ticks.push_back(BucketOf(metric)->end);
  }
  AddCurves(
      manifest,
      [&](const std::string& scheme) {
        std::vector<plot::CurvePoint> points;
        for (const auto& [begin, metric] : buckets) {
          if (const auto* row = FindRow(manifest, scheme, length, metric)) {
            points.push_back(PointOf(BucketOf(metric)->end, *row));
          }
        }
        return points;
      },
      chart);
  chart.log_y = NeedsLog(chart);
  if (chart.log_y) absl::StrAppend(&chart.y_label, ", logarithmic");
  chart.note = absl::StrCat(
      "Negative log-likelihood by position within the longest text",
      HasIntervals(chart) ? "; bands are 95 % confidence intervals over seeds, "
                            "cut at the frame."
                          : ".");
  chart.description = Description(chart);
  return chart;
}

// Adds the attention map of a cell as a panel.
absl::Status AddMap(const v1::EvaluationCell& cell, plot::HeatmapGrid& grid) {
  const v1::Tensor& map = cell.attention_map();
  CLIENT_ASSIGN_OR_RETURN(const std::vector<double> values, ToDoubles(map));
  if (map.shape_size() != 3 || values.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("the attention map of ", cell.scheme_name(), " is ",
                     ShapeName(map), "; must be [heads, rows, columns]"));
  }
  const int64_t heads = map.shape(0);
  plot::Heatmap panel{
      .title = absl::StrCat(cell.scheme_name(), ", ", cell.eval_length()),
      .rows = map.shape(1),
      .columns = map.shape(2)};
  panel.values.assign(panel.rows * panel.columns, 0);
  for (size_t i = 0; i < values.size(); ++i) {
    panel.values[i % panel.values.size()] +=
        values[i] * static_cast<double>(cell.eval_length()) /
        static_cast<double>(heads);
  }
  const auto last = static_cast<double>(cell.eval_length() - 1);
  panel.row_ends = panel.column_ends = {0, last};
  grid.panels.push_back(std::move(panel));
  return absl::OkStatus();
}

// Returns the upper end of the colour scale: the 98.5th percentile of the
// values, since a few outliers would darken all other cells.
double ScaleMax(const std::vector<plot::Heatmap>& panels) {
  std::vector<double> values;
  for (const plot::Heatmap& panel : panels) {
    std::copy_if(panel.values.begin(), panel.values.end(),
                 std::back_inserter(values), plot::IsDrawable);
  }
  if (values.empty()) return 2;
  const size_t index = values.size() * 985 / 1000;
  std::nth_element(values.begin(), values.begin() + index, values.end());
  return std::max(2.0, std::ceil(values[index]));
}

}  // namespace

std::vector<NamedChart> ChartsOf(const Manifest& manifest) {
  std::vector<NamedChart> charts;
  const std::vector<int64_t> lengths = LengthsOf(manifest);
  if (lengths.empty()) return charts;
  const auto add = [&charts](const std::string& name, plot::LineChart chart) {
    if (HasPoints(chart)) charts.push_back({name, std::move(chart)});
  };
  const std::vector<std::string> metrics = MetricsOf(manifest);
  const bool has_nll =
      std::find(metrics.begin(), metrics.end(), "nll") != metrics.end();
  for (const std::string& metric : metrics) {
    if (BucketOf(metric).has_value()) continue;
    // Bits per byte are another unit of the same quantity.
    if (has_nll && metric == "bits_per_byte") continue;
    add(metric, OverLengths(manifest, metric));
    if (metric == "nll" && Buckets(manifest, lengths.back()).size() > 1) {
      add("nll_by_position", OverPositions(manifest, lengths.back()));
    }
  }
  return charts;
}

absl::StatusOr<plot::HeatmapGrid> AttentionMaps(
    const std::vector<v1::EvaluationCell>& cells, int64_t train_length) {
  plot::HeatmapGrid grid{
      .title = "Attention maps",
      .note = absl::StrCat(
          "One row per scheme and one column per length; built for ",
          train_length,
          ". Within a map, queries go down and keys to the right. 1 is uniform "
          "attention; the brightest cells may exceed the scale."),
      .description =
          "Attention weights of every scheme at every length, averaged over "
          "heads.",
      .panels_per_row = 0,
      .value_label = "\xc3\x97 uniform"};
  std::vector<int64_t> lengths;
  for (const v1::EvaluationCell& cell : cells) {
    if (!cell.has_attention_map() || cell.seed() != cells.front().seed()) {
      continue;
    }
    if (std::find(lengths.begin(), lengths.end(), cell.eval_length()) ==
        lengths.end()) {
      lengths.push_back(cell.eval_length());
    }
    CLIENT_RETURN_IF_ERROR(AddMap(cell, grid));
  }
  if (grid.panels.empty()) return grid;
  grid.panels_per_row = static_cast<int>(lengths.size());
  grid.range = plot::Interval{0, ScaleMax(grid.panels)};
  return grid;
}

}  // namespace locus::client
