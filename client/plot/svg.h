// Scenes as SVG.
#pragma once

#include <string>

#include "client/plot/scene.h"
#include "client/plot/theme.h"

namespace locus::client::plot {

struct SvgOptions {
  Theme theme = Theme::kAuto;
  // Within a page the paper is the page's, and so are the styles of RoleStyles.
  bool embedded = false;
};

// Complete and self-contained: no fonts, scripts or images from elsewhere.
std::string WriteSvg(const Scene& scene, const SvgOptions& options = {});

}  // namespace locus::client::plot
