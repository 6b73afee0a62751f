#include "client/cli/render/picture_file.h"

#include <utility>

#include "client/base/status_macros.h"
#include "client/cli/support/cli_errors.h"
#include "client/cli/support/command_line.h"
#include "client/plot/provenance.h"
#include "locus_build_info.h"

namespace locus::client {

plot::Provenance CommandProvenance() {
  return {.command = RecordedCommandLine(), .software = "locus " LOCUS_VERSION};
}

absl::StatusOr<PictureFile> ReadPictureFile(const std::string& path,
                                            const std::string& theme,
                                            const std::string& flag) {
  const absl::StatusOr<plot::Format> format = plot::FormatOfPath(path);
  if (!format.ok()) return AsUsage(format.status(), flag);
  const absl::StatusOr<plot::Theme> parsed = plot::ParseTheme(theme);
  if (!parsed.ok()) return AsUsage(parsed.status(), "--theme");
  return PictureFile{.path = path, .format = *format, .theme = *parsed};
}

absl::StatusOr<std::string> RenderPicture(plot::Scene scene,
                                          const PictureFile& file) {
  plot::AddProvenance(CommandProvenance(), scene);
  return plot::Render(scene, file.format, file.theme);
}

}  // namespace locus::client
