#include "client/plot/theme.h"

#include <cmath>
#include <numbers>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace locus::client::plot {
namespace {

// One colour in both themes.
struct ThemedColor {
  uint32_t light;
  uint32_t dark;
};

// Colours in the order of Role. The colours of curves are the palette of Okabe
// and Ito (2008), which is distinguishable with any kind of colour vision,
// adjusted to a contrast of at least 3:1 with the background, and two more.
constexpr ThemedColor kColors[] = {
    {0xffffff, 0x14171c}, {0x1b1f24, 0xe8eaed}, {0x57606b, 0xa3abb6},
    {0xe1e5ea, 0x2e353e}, {0xd9dee5, 0x262c34}, {0x0072b2, 0x56a8e8},
    {0xd55e00, 0xff8a4c}, {0x00845f, 0x2cc295}, {0xb4467f, 0xe79bc4},
    {0xa86d00, 0xf0b429}, {0x2b8cc4, 0x9adcff}, {0x4a4f57, 0xc9ced6},
    {0x7d52b8, 0xb794f6}, {0x6b6b00, 0xc6c04a}, {0xa13030, 0xf28b82},
};
static_assert(std::size(kColors) ==
              static_cast<size_t>(Role::kSeries) + kSeriesCount);

std::string Classes(Theme theme) {
  std::string css;
  for (size_t i = 0; i < std::size(kColors); ++i) {
    const std::string color = HexColor(ColorOf(static_cast<Role>(i), theme));
    absl::StrAppend(&css, ".lf-", i, "{fill:", color, "}.ls-", i,
                    "{stroke:", color, "}");
  }
  return css;
}

// Classes of colours of data, which differ between the themes: the elements
// carry both colours as variables, or there is an image for each theme.
std::string DataClasses(Theme theme) {
  const bool dark = theme == Theme::kDark;
  return absl::StrCat(".lv{fill:var(", dark ? "--d" : "--l", ")}.li-",
                      dark ? "l" : "d", "{display:none}.li-", dark ? "d" : "l",
                      "{display:inline}");
}

// Returns the corners of a polygon around `center`. `inner` is the radius of
// every second corner.
std::vector<Point> Corners(Point center, int count, double degrees,
                           double outer, double inner) {
  std::vector<Point> points;
  for (int i = 0; i < count; ++i) {
    const double angle =
        (degrees + 360.0 * i / count) * std::numbers::pi / 180.0;
    const double radius = i % 2 == 0 ? outer : inner;
    points.push_back({center.x + radius * std::cos(angle),
                      center.y + radius * std::sin(angle)});
  }
  return points;
}

}  // namespace

Rgb ColorOf(Role role, Theme theme) {
  const ThemedColor& color = kColors[static_cast<size_t>(role)];
  const uint32_t value = theme == Theme::kDark ? color.dark : color.light;
  return {static_cast<uint8_t>(value >> 16), static_cast<uint8_t>(value >> 8),
          static_cast<uint8_t>(value)};
}

std::string HexColor(Rgb color) {
  return absl::StrFormat("#%02x%02x%02x", color.red, color.green, color.blue);
}

std::string RoleStyles(Theme theme) {
  const auto all = [](Theme each) {
    return absl::StrCat(Classes(each), DataClasses(each));
  };
  if (theme != Theme::kAuto) return all(theme);
  return absl::StrCat(all(Theme::kLight),
                      "@media (prefers-color-scheme: dark){", all(Theme::kDark),
                      "}");
}

Dashes SeriesDashes(int index) {
  constexpr Dashes kDashes[] = {
      {}, {8, 3}, {2, 2.5}, {9, 3, 2, 3}, {14, 4}, {5, 2, 2, 2, 2, 2}, {4, 3}};
  return kDashes[index % std::size(kDashes)];
}

Shape SeriesMarker(int index, Point at, const std::string& hover) {
  constexpr double kSize = 4.2;
  const Style style{
      .fill = SeriesRole(index), .stroke = Role::kPaper, .stroke_width = 1.2};
  const auto polygon = [&](int count, double degrees, double outer,
                           double inner) {
    return Path{.points = Corners(at, count, degrees, outer, inner),
                .closed = true,
                .style = style,
                .hover = hover};
  };
  switch (index % 6) {
    case 0:
      return Circle{
          .center = at, .radius = kSize, .style = style, .hover = hover};
    case 1:
      return polygon(4, 45, 1.3 * kSize, 1.3 * kSize);
    case 2:
      return polygon(3, -90, 1.45 * kSize, 1.45 * kSize);
    case 3:
      return polygon(4, 0, 1.45 * kSize, 1.45 * kSize);
    case 4:
      return polygon(3, 90, 1.45 * kSize, 1.45 * kSize);
    default:
      return polygon(10, -90, 1.6 * kSize, 0.7 * kSize);
  }
}

}  // namespace locus::client::plot
