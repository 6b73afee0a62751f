// Pixels as PNG: of small images within an SVG, and of whole scenes.
//
// Scenes are painted by cairo, their text set by pango, which finds a font for
// every script that the machine has one for.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "client/plot/scene.h"
#include "client/plot/theme.h"

namespace locus::client::plot {

std::string EncodePng(const Raster& raster);

// `pixels_per_unit` of 2 is sharp on today's screens. INVALID_ARGUMENT if the
// scene is larger than an image can be.
absl::StatusOr<std::string> WritePng(const Scene& scene, Theme theme,
                                     double pixels_per_unit = 2);

}  // namespace locus::client::plot
