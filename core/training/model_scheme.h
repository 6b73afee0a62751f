// What tells an evaluated model where its tokens stand: a scheme for every
// layer, and the positions that training has.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/encoding/randomize.h"
#include "core/encoding/scheme.h"

namespace locus {

struct LayerScheme {
  const Scheme* scheme = nullptr;
  // Queries see keys at a distance below this alone; 0: all.
  int64_t window = 0;
};

// Refers to its schemes, which must outlive it.
struct ModelScheme {
  // One scheme in all layers.
  // NOLINTNEXTLINE(google-explicit-constructor): a scheme is the plainest case
  ModelScheme(const Scheme& scheme) : layers{{.scheme = &scheme}} {}

  // In turn: layer n has the n-th, and after the last comes the first. Layers
  // with one and the same scheme share what it learns. What acts on embeddings
  // does so once, before the first layer.
  std::vector<LayerScheme> layers;
  // If set, the tokens of each training step stand at positions drawn below the
  // maximum, in order, instead of 0, 1, ...
  std::optional<Randomization> randomization = std::nullopt;
  // Whether those of tests do, too.
  bool randomizes_tests = false;

  const LayerScheme& layer(int64_t index) const {
    return layers[index % static_cast<int64_t>(layers.size())];
  }
};

}  // namespace locus
