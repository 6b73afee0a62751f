// Position schemes of an evaluated model: one scheme per layer, and the
// positions that training uses.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/encoding/randomize.h"
#include "core/encoding/scheme.h"

namespace locus {

struct LayerScheme {
  const Scheme* scheme = nullptr;
  // Sliding-window attention: queries attend to keys at distances below
  // `window`. 0 means no window.
  int64_t window = 0;
};

// Does not own its schemes, which must outlive it.
struct ModelScheme {
  // Uses one scheme in all layers.
  // NOLINTNEXTLINE(google-explicit-constructor): a single scheme is a model
  ModelScheme(const Scheme& scheme) : layers{{.scheme = &scheme}} {}

  // Layer n uses entry n modulo the number of entries. Layers with the same
  // Scheme object share its learned parameters. Codes that are added to the
  // embeddings are added once, before the first layer.
  std::vector<LayerScheme> layers;
  // If set, the tokens of each training step have random ascending positions
  // below the maximum instead of 0, 1, ....
  std::optional<Randomization> randomization = std::nullopt;
  // Whether the tokens of tests have random positions, too.
  bool randomizes_tests = false;

  const LayerScheme& layer(int64_t index) const {
    return layers[index % static_cast<int64_t>(layers.size())];
  }
};

}  // namespace locus
