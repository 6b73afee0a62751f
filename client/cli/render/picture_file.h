// Files of pictures: format, theme, and the command that made them.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "client/plot/render_file.h"
#include "client/plot/scene.h"

namespace locus::client {

// The command line of this process and the version of the program, for pictures
// and reports.
plot::Provenance CommandProvenance();

// Where and how a picture is written.
struct PictureFile {
  std::string path;
  plot::Format format = plot::Format::kSvg;
  plot::Theme theme = plot::Theme::kAuto;
};

// Reads the path and the theme. Returns a usage error that names `flag`, which
// sets the path, or --theme. Commands call this before any work.
absl::StatusOr<PictureFile> ReadPictureFile(const std::string& path,
                                            const std::string& theme,
                                            const std::string& flag);

// Returns the contents of the file, with CommandProvenance() in its metadata
// and as a line below the picture.
absl::StatusOr<std::string> RenderPicture(plot::Scene scene,
                                          const PictureFile& file);

}  // namespace locus::client
