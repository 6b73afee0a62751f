// Light and dark themes.
#pragma once

#include <string>

#include "absl/strings/string_view.h"
#include "client/plot/scene.h"

namespace locus::client::plot {

// kAuto follows the system of the viewer in SVG, and is light in PNG.
enum class Theme { kAuto, kLight, kDark };

// Returns the colour of a role; for kAuto, that of the light theme.
Rgb ColorOf(Role role, Theme theme);

// Formats a colour for CSS, as in "#0072b2".
std::string HexColor(Rgb color);

// Returns CSS classes `lf-N` (fill) and `ls-N` (stroke) for each role N, `lv`
// for colours of data that differ between the themes, and `li-l` and `li-d` for
// images of one theme. For kAuto, a media query contains the dark theme.
std::string RoleStyles(Theme theme);

inline constexpr char kFontStack[] =
    "system-ui, -apple-system, 'Segoe UI', 'DejaVu Sans', Arial, sans-serif";

// Returns the dashes and the marker of a curve, which distinguish curves
// without colour. Both repeat for large indices.
Dashes SeriesDashes(int index);
Shape SeriesMarker(int index, Point at, const std::string& hover);

}  // namespace locus::client::plot
