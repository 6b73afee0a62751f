// The colours of roles, on white and on black paper.
#pragma once

#include <string>

#include "absl/strings/string_view.h"
#include "client/plot/scene.h"

namespace locus::client::plot {

// kAuto: as the reader's system has it. Pixels cannot, and are light.
enum class Theme { kAuto, kLight, kDark };

// Light unless `theme` is kDark.
Rgb ColorOf(Role role, Theme theme);

// "#0072b2".
std::string HexColor(Rgb color);

// CSS classes `lf-N` (fill) and `ls-N` (stroke) for role N, and the dark ones
// within a media query if the theme is kAuto.
std::string RoleStyles(Theme theme);

inline constexpr char kFontStack[] =
    "system-ui, -apple-system, 'Segoe UI', 'DejaVu Sans', Arial, sans-serif";

// So that curves are told apart without colour. Both repeat.
Dashes SeriesDashes(int index);
Shape SeriesMarker(int index, Point at, const std::string& hover);

}  // namespace locus::client::plot
