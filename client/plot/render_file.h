// Rendering of scenes to files.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "client/plot/scene.h"
#include "client/plot/theme.h"

namespace locus::client::plot {

enum class Format { kSvg, kPng };

// Returns the format for the extension of a path; SVG for "-". INVALID_ARGUMENT
// for any other extension.
absl::StatusOr<Format> FormatOfPath(const std::string& path);

// Parses "auto", "light" or "dark". INVALID_ARGUMENT for any other name.
absl::StatusOr<Theme> ParseTheme(const std::string& name);

// Returns the contents of the file.
absl::StatusOr<std::string> Render(const Scene& scene, Format format,
                                   Theme theme);

}  // namespace locus::client::plot
