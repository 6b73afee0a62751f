#include "client/plot/legend.h"

#include "client/plot/frame.h"
#include "client/plot/text.h"
#include "client/plot/theme.h"

namespace locus::client::plot {

double AddLegend(const std::vector<LegendEntry>& legend, double width, double y,
                 std::vector<Shape>& shapes) {
  if (legend.empty()) return y;
  constexpr double kLegendSize = 12;
  constexpr double kSample = 26;
  double x = kChartMargin;
  y += kLegendSize;
  for (const LegendEntry& entry : legend) {
    const std::string name =
        Ellipsized(entry.name, kLegendSize, width - 2 * kChartMargin - kSample);
    const double extent = kSample + 6 + TextWidth(name, kLegendSize) + 16;
    if (x > kChartMargin && x + extent > width - kChartMargin) {
      x = kChartMargin;
      y += kLegendSize + 6;
    }
    shapes.emplace_back(Path{.points = {{x, y - 4}, {x + kSample, y - 4}},
                             .style = {.stroke = SeriesRole(entry.series),
                                       .stroke_width = 2.2,
                                       .dashes = SeriesDashes(entry.series)}});
    shapes.emplace_back(Text{.at = {x + kSample + 6, y},
                             .text = name,
                             .size = kLegendSize,
                             .color = SeriesRole(entry.series)});
    x += extent;
  }
  return y + 8;
}

}  // namespace locus::client::plot
