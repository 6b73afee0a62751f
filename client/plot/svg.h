// SVG output.
#pragma once

#include <string>

#include "client/plot/scene.h"
#include "client/plot/theme.h"

namespace locus::client::plot {

struct SvgOptions {
  Theme theme = Theme::kAuto;
  // For use within an HTML page, which provides the background and the styles
  // of RoleStyles().
  bool embedded = false;
};

// Renders a scene as a self-contained SVG document, without external fonts,
// scripts or images.
std::string WriteSvg(const Scene& scene, const SvgOptions& options = {});

}  // namespace locus::client::plot
