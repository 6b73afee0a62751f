#include "client/plot/render_file.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "client/plot/png.h"
#include "client/plot/svg.h"

namespace locus::client::plot {

absl::StatusOr<Format> FormatOfPath(const std::string& path) {
  if (path == "-" || absl::EndsWithIgnoreCase(path, ".svg")) {
    return Format::kSvg;
  }
  if (absl::EndsWithIgnoreCase(path, ".png")) return Format::kPng;
  return absl::InvalidArgumentError(
      absl::StrCat("\"", path, "\" ends neither in .svg nor in .png"));
}

absl::StatusOr<Theme> ParseTheme(const std::string& name) {
  if (name == "auto") return Theme::kAuto;
  if (name == "light") return Theme::kLight;
  if (name == "dark") return Theme::kDark;
  return absl::InvalidArgumentError(
      absl::StrCat("\"", name, "\" is not auto, light or dark"));
}

absl::StatusOr<std::string> Render(const Scene& scene, Format format,
                                   Theme theme) {
  if (format == Format::kPng) return WritePng(scene, theme);
  return WriteSvg(scene, {.theme = theme});
}

}  // namespace locus::client::plot
