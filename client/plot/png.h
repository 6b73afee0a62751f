// PNG output, with cairo for drawing and pango for text. Pango selects an
// installed font for every script.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "client/plot/scene.h"
#include "client/plot/theme.h"

namespace locus::client::plot {

// Encodes a raster image, such as a heatmap within an SVG.
std::string EncodePng(const Raster& raster, Theme theme = Theme::kLight);

// Renders a scene. The default of two pixels per unit suits high-density
// screens. The provenance becomes text chunks named Source and Software.
// INVALID_ARGUMENT if the image would exceed the maximum size of cairo.
absl::StatusOr<std::string> WritePng(const Scene& scene, Theme theme,
                                     double pixels_per_unit = 2);

}  // namespace locus::client::plot
