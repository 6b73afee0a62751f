#include "client/plot/compose.h"

#include <algorithm>
#include <utility>

#include "client/plot/frame.h"

namespace locus::client::plot {
namespace {

Point Shifted(Point point, Point by) {
  return {point.x + by.x, point.y + by.y};
}

Shape Shifted(Shape shape, Point by) {
  std::visit(
      [by](auto& each) {
        if constexpr (requires { each.corner; }) {
          each.corner = Shifted(each.corner, by);
        } else if constexpr (requires { each.points; }) {
          for (Point& point : each.points) point = Shifted(point, by);
        } else if constexpr (requires { each.center; }) {
          each.center = Shifted(each.center, by);
        } else {
          each.at = Shifted(each.at, by);
        }
      },
      shape);
  return shape;
}

// Returns the starts of columns or rows with these sizes, and the end.
std::vector<double> Starts(double first, const std::vector<double>& sizes) {
  std::vector<double> starts = {first};
  for (const double size : sizes) starts.push_back(starts.back() + size);
  return starts;
}

}  // namespace

int BalancedColumns(int count, int max_columns) {
  if (count <= std::max(max_columns, 1)) {
    // Four panels are larger in two rows.
    return count == 4 ? 2 : std::max(count, 1);
  }
  int best = max_columns;
  const auto empty = [count](int columns) {
    return (columns - count % columns) % columns;
  };
  for (int columns = max_columns; columns > 1; --columns) {
    if (empty(columns) < empty(best)) best = columns;
  }
  return best;
}

Scene Compose(const Figure& figure) {
  const auto count = static_cast<int>(figure.panels.size());
  const int columns = std::clamp(figure.columns, 1, std::max(count, 1));
  std::vector<double> widths(columns, 0);
  std::vector<double> heights((count + columns - 1) / columns, 0);
  for (int i = 0; i < count; ++i) {
    double& width = widths[i % columns];
    width = std::max(width, figure.panels[i].width);
    double& height = heights[i / columns];
    height = std::max(height, figure.panels[i].height);
  }
  const std::vector<double> lefts = Starts(0, widths);
  Scene scene{.width = std::max(420.0, lefts.back()),
              .title = figure.title,
              .description = figure.description};
  // Figures within figures have no heading.
  double top =
      figure.title.empty() && figure.note.empty()
          ? 0
          : AddHeading(figure.title, figure.note, scene.width, scene.shapes);
  top = AddLegend(figure.legend, scene.width, top, scene.shapes);
  const std::vector<double> tops = Starts(top, heights);
  for (int i = 0; i < count; ++i) {
    for (const Shape& shape : figure.panels[i].shapes) {
      scene.shapes.push_back(
          Shifted(shape, {lefts[i % columns], tops[i / columns]}));
    }
  }
  scene.height = tops.back();
  return scene;
}

}  // namespace locus::client::plot
