// What a picture consists of: shapes with places, and colours by their role.
//
// Charts are pure functions from numbers to a Scene. Two painters turn it into
// a file: svg.h writes SVG whose colours follow the reader's light or dark
// theme, png.h paints pixels in one of the two. Coordinates are CSS pixels, y
// grows downwards.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace locus::client::plot {

struct Rgb {
  uint8_t red = 0;
  uint8_t green = 0;
  uint8_t blue = 0;

  friend bool operator==(const Rgb&, const Rgb&) = default;
};

// What a colour is for. Each theme has a colour for each role; see theme.h.
enum class Role {
  kPaper,
  kInk,
  kQuiet,   // labels of axes, notes
  kGrid,    // lines one should hardly see
  kHidden,  // cells that hold no number
  kSeries,  // and those after it: one for each curve
};

inline constexpr int kSeriesCount = 10;

// The colour of curve `index`; they repeat after kSeriesCount.
constexpr Role SeriesRole(int index) {
  return static_cast<Role>(static_cast<int>(Role::kSeries) +
                           index % kSeriesCount);
}

// Nothing, a role, or a colour that is the same in every theme.
using Color = std::variant<std::monostate, Role, Rgb>;

struct Point {
  double x = 0;
  double y = 0;
};

// Lengths of dashes and gaps in turn, up to the first zero; none: solid.
using Dashes = std::array<double, 6>;

// How many lengths there are.
inline int DashCount(const Dashes& dashes) {
  return static_cast<int>(std::find(dashes.begin(), dashes.end(), 0.0) -
                          dashes.begin());
}

struct Style {
  Color fill = std::monostate();
  Color stroke = std::monostate();
  double stroke_width = 1;
  Dashes dashes = {};
  double opacity = 1;
};

struct Rect {
  Point corner;
  double width = 0;
  double height = 0;
  Style style = {};
  // Shown while the pointer rests on the shape.
  std::string hover = "";
};

struct Path {
  std::vector<Point> points;
  bool closed = false;
  Style style = {};
  std::string hover = "";
};

struct Circle {
  Point center;
  double radius = 0;
  Style style = {};
  std::string hover = "";
};

enum class Anchor { kStart, kMiddle, kEnd };

struct Text {
  // On the base line.
  Point at;
  std::string text;
  double size = 12;
  Anchor anchor = Anchor::kStart;
  Color color = Role::kInk;
  bool bold = false;
  // Clockwise, around `at`.
  double degrees = 0;
};

// Square pixels, each as large as the rectangle allows.
struct Raster {
  int columns = 0;
  int rows = 0;
  struct Pixel {
    Rgb color;
    bool hidden = false;  // lets through what is below
  };
  std::vector<Pixel> pixels;  // [rows, columns]
};

struct Image {
  Point corner;
  double width = 0;
  double height = 0;
  Raster raster;
};

using Shape = std::variant<Rect, Path, Circle, Text, Image>;

struct Scene {
  double width = 0;
  double height = 0;
  // For readers that cannot see the picture.
  std::string title;
  std::string description;
  // Later ones lie above earlier ones.
  std::vector<Shape> shapes;
};

}  // namespace locus::client::plot
