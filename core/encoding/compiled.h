// Typed access to a compiled scheme. Each function returns null if the scheme
// compiled to another form.
#pragma once

#include <memory>
#include <variant>

#include "core/encoding/scheme.h"

namespace locus {

inline const AdditiveCode* CodeOf(const CompiledScheme& compiled) {
  const auto* code = std::get_if<std::unique_ptr<AdditiveCode>>(&compiled);
  return code == nullptr ? nullptr : code->get();
}

inline const Rotation* RotationOf(const CompiledScheme& compiled) {
  return std::get_if<Rotation>(&compiled);
}

inline const ScoreBias* BiasOf(const CompiledScheme& compiled) {
  const auto* bias = std::get_if<std::unique_ptr<ScoreBias>>(&compiled);
  return bias == nullptr ? nullptr : bias->get();
}

}  // namespace locus
