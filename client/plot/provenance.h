// The command that made a picture.
#pragma once

#include "client/plot/scene.h"

namespace locus::client::plot {

// Records how a picture was made: in the metadata of the file, and as a line of
// small text below the picture, which is extended for it. Long commands are
// wrapped, and cut after a few lines; the metadata always has all of it. Does
// nothing if the command is empty.
void AddProvenance(const Provenance& provenance, Scene& scene);

}  // namespace locus::client::plot
