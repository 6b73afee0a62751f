#include "core/encoding/registry.h"

#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "core/base/status.h"

// One line per scheme. X(Rope) stands for DescribeRope() in schemes/rope.cc.
#define LOCUS_SCHEMES(X) \
  X(None)                \
  X(Sinusoidal)          \
  X(Learned)             \
  X(Rope)                \
  X(Alibi)               \
  X(T5Bias)              \
  X(Xpos)                \
  X(Kerple)              \
  X(Fire)                \
  X(Sandwich)

namespace locus {

#define LOCUS_DECLARE(scheme) SchemeInfo Describe##scheme();
LOCUS_SCHEMES(LOCUS_DECLARE)
#undef LOCUS_DECLARE

absl::Span<const SchemeInfo> AllSchemes() {
#define LOCUS_DESCRIBE(scheme) Describe##scheme(),
  static const auto* const schemes =
      new std::vector<SchemeInfo>{LOCUS_SCHEMES(LOCUS_DESCRIBE)};
#undef LOCUS_DESCRIBE
  return *schemes;
}

const SchemeInfo* FindScheme(absl::string_view name) {
  const auto schemes = AllSchemes();
  const auto found = absl::c_find_if(
      schemes, [&](const SchemeInfo& info) { return info.name == name; });
  return found == schemes.end() ? nullptr : &*found;
}

absl::StatusOr<std::unique_ptr<Scheme>> MakeScheme(
    const SchemeInfo& info, Arguments arguments,
    const TrainingSetting* setting) {
  if (setting != nullptr && info.apply_training_defaults != nullptr) {
    info.apply_training_defaults(*setting, &arguments);
  }
  if (const absl::Status checked = arguments.Check(info.parameters);
      !checked.ok()) {
    return Within(info.name, checked);
  }
  auto formula = info.make(arguments);
  if (!formula.ok()) return Within(info.name, formula.status());
  return std::make_unique<Scheme>(info, *std::move(formula));
}

}  // namespace locus
