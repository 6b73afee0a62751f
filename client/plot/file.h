// Pictures as files.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "client/plot/scene.h"
#include "client/plot/theme.h"

namespace locus::client::plot {

enum class Format { kSvg, kPng };

// By the end of the name; "-" is SVG. INVALID_ARGUMENT for any other.
absl::StatusOr<Format> FormatOfPath(const std::string& path);

// "auto", "light" or "dark". INVALID_ARGUMENT for anything else.
absl::StatusOr<Theme> ParseTheme(const std::string& name);

absl::StatusOr<std::string> Render(const Scene& scene, Format format,
                                   Theme theme);

}  // namespace locus::client::plot
