// Scenes: the shapes of a chart, with colours by role.
//
// Charts are pure functions from numbers to a Scene, which svg.h and png.h
// render to a file. The colours of an SVG file can follow the light or dark
// theme of the viewer; a PNG file has one of the two. Coordinates are CSS
// pixels, and y grows downwards.
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

// Role of a colour. Each theme has a colour for each role; see theme.h.
enum class Role {
  kPaper,
  kInk,
  kQuiet,   // Labels of axes and notes.
  kGrid,    // Grid lines.
  kHidden,  // Cells without a value.
  kSeries,  // First of kSeriesCount colours of curves.
};

inline constexpr int kSeriesCount = 10;

// Returns the colour of curve `index`. Colours repeat after kSeriesCount.
constexpr Role SeriesRole(int index) {
  return static_cast<Role>(static_cast<int>(Role::kSeries) +
                           index % kSeriesCount);
}

// A colour of data that differs between the light and the dark theme.
struct ThemedRgb {
  Rgb light;
  Rgb dark;

  friend bool operator==(const ThemedRgb&, const ThemedRgb&) = default;
};

// No colour, a role, a colour that is the same in every theme, or one for each
// theme.
using Color = std::variant<std::monostate, Role, Rgb, ThemedRgb>;

struct Point {
  double x = 0;
  double y = 0;
};

// Alternating lengths of dashes and gaps, up to the first zero. All zeros is a
// solid line.
using Dashes = std::array<double, 6>;

// Returns the number of lengths before the first zero.
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
  // Text shown while the pointer is over the shape.
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
  // Anchor point on the baseline.
  Point at;
  std::string text;
  double size = 12;
  Anchor anchor = Anchor::kStart;
  Color color = Role::kInk;
  bool bold = false;
  // Clockwise rotation around `at`.
  double degrees = 0;
};

// A pixel image, scaled to the size of an Image.
struct Raster {
  int columns = 0;
  int rows = 0;
  struct Pixel {
    Rgb color;
    bool hidden = false;  // Transparent.
  };
  std::vector<Pixel> pixels;  // [rows, columns].
  // The pixels of the dark theme, [rows, columns]; empty if they are the same.
  std::vector<Pixel> dark_pixels = {};
};

struct Image {
  Point corner;
  double width = 0;
  double height = 0;
  Raster raster;
};

using Shape = std::variant<Rect, Path, Circle, Text, Image>;

// The origin of a picture; see AddProvenance() in provenance.h.
struct Provenance {
  // The command line that draws the picture again, with quotes for a shell.
  std::string command;
  // Name and version of the program.
  std::string software;
};

struct Scene {
  double width = 0;
  double height = 0;
  // Title and description for screen readers.
  std::string title;
  std::string description;
  // Shapes in drawing order; later shapes cover earlier ones.
  std::vector<Shape> shapes;
  // Written to the metadata of the file unless the command is empty.
  Provenance provenance = {};
};

}  // namespace locus::client::plot
