// The registry of schemes.
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "core/encoding/scheme.h"

namespace locus {

// All schemes, in the order of the protocol's Scheme message.
absl::Span<const SchemeInfo> AllSchemes();

// The scheme with that name, or null.
const SchemeInfo* FindScheme(absl::string_view name);

// Makes a scheme from its arguments. Field paths in errors begin with the
// scheme's name, such as `rope.base`. With a training setting, parameters that
// are not set get defaults suitable for training.
absl::StatusOr<std::unique_ptr<Scheme>> MakeScheme(
    const SchemeInfo& info, Arguments arguments,
    const TrainingSetting* setting = nullptr);

}  // namespace locus
