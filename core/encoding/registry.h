// The list of schemes.
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "core/encoding/scheme.h"

namespace locus {

// All of them, in the order of the contract.
absl::Span<const SchemeInfo> AllSchemes();

// The one of that name, or null.
const SchemeInfo* FindScheme(absl::string_view name);

// A scheme from its arguments. Field paths in errors begin with its name, such
// as `rope.base`. With a setting, what the arguments leave open is chosen to
// suit it.
absl::StatusOr<std::unique_ptr<Scheme>> MakeScheme(
    const SchemeInfo& info, Arguments arguments,
    const TrainingSetting* setting = nullptr);

}  // namespace locus
