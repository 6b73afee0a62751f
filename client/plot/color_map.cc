#include "client/plot/color_map.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "absl/types/span.h"

namespace locus::client::plot {
namespace {

// Matplotlib's viridis at 17 equidistant positions. Linear interpolation
// between them is visually indistinguishable from the original.
constexpr Rgb kViridis[] = {{68, 1, 84},    {72, 24, 106},  {71, 45, 123},
                            {66, 64, 134},  {59, 82, 139},  {51, 99, 141},
                            {44, 114, 142}, {38, 130, 142}, {33, 145, 140},
                            {31, 160, 136}, {40, 174, 128}, {63, 188, 115},
                            {94, 201, 98},  {132, 212, 75}, {173, 220, 48},
                            {216, 226, 25}, {253, 231, 37}};

// ColorBrewer's RdBu in reverse order.
constexpr Rgb kBlueRed[] = {{5, 48, 97},     {33, 102, 172},  {67, 147, 195},
                            {146, 197, 222}, {209, 229, 240}, {247, 247, 247},
                            {253, 219, 199}, {244, 165, 130}, {214, 96, 77},
                            {178, 24, 43},   {103, 0, 31}};

// The same hues on a dark background: the magnitude is shown by brightness.
constexpr Rgb kDarkBlueRed[] = {
    {186, 222, 255}, {110, 178, 244}, {56, 132, 208}, {32, 88, 150},
    {20, 46, 82},    {11, 13, 16},    {82, 30, 24},   {148, 48, 32},
    {208, 82, 52},   {244, 138, 96},  {255, 206, 178}};

absl::Span<const Rgb> ColorsOf(ColorMap map, Theme theme) {
  if (map == ColorMap::kSequential) return kViridis;
  if (theme == Theme::kDark) return kDarkBlueRed;
  return kBlueRed;
}

uint8_t Interpolate(uint8_t a, uint8_t b, double share) {
  return static_cast<uint8_t>(std::lround(a + (b - a) * share));
}

// Relative luminance as defined by WCAG 2.1.
double Luminance(Rgb color) {
  const auto linear = [](uint8_t value) {
    const double share = value / 255.0;
    return share <= 0.03928 ? share / 12.92
                            : std::pow((share + 0.055) / 1.055, 2.4);
  };
  return 0.2126 * linear(color.red) + 0.7152 * linear(color.green) +
         0.0722 * linear(color.blue);
}

}  // namespace

Rgb ColorAt(ColorMap map, double position, Theme theme) {
  const absl::Span<const Rgb> colors = ColorsOf(map, theme);
  const double at =
      std::clamp(position, 0.0, 1.0) * static_cast<double>(colors.size() - 1);
  const size_t below = std::min(static_cast<size_t>(at), colors.size() - 2);
  const Rgb& a = colors[below];
  const Rgb& b = colors[below + 1];
  const double rest = at - static_cast<double>(below);
  return {Interpolate(a.red, b.red, rest), Interpolate(a.green, b.green, rest),
          Interpolate(a.blue, b.blue, rest)};
}

ThemedRgb ThemedColorAt(ColorMap map, double position) {
  return {ColorAt(map, position, Theme::kLight),
          ColorAt(map, position, Theme::kDark)};
}

double PositionInRange(double value, Interval range) {
  if (!(range.high > range.low)) return 0.5;
  return std::clamp((value - range.low) / (range.high - range.low), 0.0, 1.0);
}

Rgb ReadableOn(Rgb background) {
  constexpr Rgb kDark{20, 23, 28};
  constexpr Rgb kBright{255, 255, 255};
  const auto contrast = [&](Rgb ink) {
    const double a = Luminance(ink) + 0.05;
    const double b = Luminance(background) + 0.05;
    return std::max(a, b) / std::min(a, b);
  };
  return contrast(kDark) > contrast(kBright) ? kDark : kBright;
}

}  // namespace locus::client::plot
