#include "client/cli/render/explanation.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "absl/strings/str_cat.h"
#include "client/base/status_macros.h"
#include "client/cli/render/wave_charts.h"
#include "locus/client/tensor.h"

namespace locus::client {
namespace {

constexpr double kTurn = 2 * std::numbers::pi;

plot::Curve CurveOf(const std::string& name, int series,
                    const std::vector<double>& values) {
  plot::Curve curve{.name = name, .points = {}, .series = series};
  for (size_t n = 0; n < values.size(); ++n) {
    curve.points.push_back(
        {static_cast<double>(n), values[n], values[n], values[n]});
  }
  return curve;
}

}  // namespace

plot::LineChart RotationChart(const RotationFacts& facts,
                              const std::string& title) {
  std::vector<double> before;
  std::vector<double> after;
  for (int64_t k = 0; k < facts.pair_count(); ++k) {
    before.push_back(kTurn / facts.unscaled[k]);
    after.push_back(facts.Wavelength(k));
  }
  std::vector<WavelengthCurve> curves = {
      {before == after ? "wavelength" : "scaled", after}};
  if (before != after) curves.push_back({"unscaled", before});
  return WavelengthLines(title, "", curves, facts.trained_length,
                         facts.target_length);
}

absl::StatusOr<plot::LineChart> TableChart(const v1::Tensor& table,
                                           const TableFacts& facts,
                                           const std::string& title) {
  CLIENT_ASSIGN_OR_RETURN(const std::vector<double> codes, ToDoubles(table));
  if (table.shape_size() != 2) {
    return absl::InternalError(absl::StrCat(
        "the table sent by the server has shape ", ShapeName(table)));
  }
  const int64_t dim = table.shape(1);
  std::vector<double> steps = {0};
  for (int64_t p = 1; p < table.shape(0); ++p) {
    double squares = 0;
    for (int64_t c = 0; c < dim; ++c) {
      const double step = codes[p * dim + c] - codes[(p - 1) * dim + c];
      squares += step * step;
    }
    steps.push_back(std::sqrt(squares));
  }
  plot::LineChart chart;
  chart.title = title;
  chart.description = absl::StrCat(
      "How far the code of each position is from the one before; "
      "the table has ",
      facts.table_length, " rows.");
  chart.x_label = "position";
  chart.y_label = "distance to the code before";
  chart.markers = false;
  chart.curves = {CurveOf("distance", 0, steps)};
  return chart;
}

absl::StatusOr<plot::LineChart> BiasDistanceChart(const v1::BiasEncoding& bias,
                                                  const std::string& title) {
  constexpr int64_t kMaxHeads = 8;
  CLIENT_ASSIGN_OR_RETURN(const BiasByDistance by_distance, ByDistance(bias));
  const auto heads = static_cast<int64_t>(by_distance.heads.size());
  plot::LineChart chart;
  chart.title = title;
  chart.description = "The bias of each head by the distance of a key.";
  chart.x_label = "distance";
  chart.y_label = "bias";
  chart.markers = false;
  for (int64_t h = 0; h < std::min(heads, kMaxHeads); ++h) {
    chart.curves.push_back(CurveOf(absl::StrCat("head ", h),
                                   static_cast<int>(h), by_distance.heads[h]));
  }
  return chart;
}

}  // namespace locus::client
