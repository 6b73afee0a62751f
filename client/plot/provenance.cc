#include "client/plot/provenance.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/plot/frame.h"
#include "client/plot/text.h"

namespace locus::client::plot {
namespace {

constexpr double kFooterSize = 9.5;

constexpr size_t kMaxFooterLines = 3;

}  // namespace

void AddProvenance(const Provenance& provenance, Scene& scene) {
  if (provenance.command.empty()) return;
  scene.provenance = provenance;
  const double width = scene.width - 2 * kChartMargin;
  std::vector<std::string> lines =
      WrapWords(provenance.command, kFooterSize, width);
  if (lines.size() > kMaxFooterLines) {
    lines.resize(kMaxFooterLines);
    lines.back() =
        Ellipsized(absl::StrCat(lines.back(), " \u2026"), kFooterSize, width);
  }
  double y = scene.height + 4;
  for (const std::string& line : lines) {
    scene.shapes.emplace_back(Text{.at = {kChartMargin, y},
                                   .text = line,
                                   .size = kFooterSize,
                                   .color = Role::kQuiet});
    y += kFooterSize + 3;
  }
  scene.height = y;
}

}  // namespace locus::client::plot
