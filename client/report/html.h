// HTML report of an evaluation.
#pragma once

#include <optional>
#include <string>

#include "client/plot/scene.h"
#include "client/report/manifest.h"

namespace locus::client {

// Returns a self-contained HTML page without scripts or external resources. Its
// theme follows the viewer's system. All numbers come from the manifest.
std::string MakeReport(const Manifest& manifest,
                       const std::optional<plot::Scene>& attention_maps);

}  // namespace locus::client
