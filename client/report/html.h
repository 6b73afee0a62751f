// One page that says what an evaluation found.
#pragma once

#include <optional>
#include <string>

#include "client/plot/scene.h"
#include "client/report/manifest.h"

namespace locus::client {

// Self-contained: nothing is fetched, no script runs. Light or dark as the
// reader's system is. All numbers are the manifest's.
std::string MakeReport(const Manifest& manifest,
                       const std::optional<plot::Scene>& attention_maps);

}  // namespace locus::client
