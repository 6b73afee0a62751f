// Score biases by distance, and whether they stay within the biases that occur
// in training.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "locus/v1/encoding.pb.h"

namespace locus::client {

// A bias by head and distance: [H, T], nearest first.
struct BiasByDistance {
  std::vector<std::vector<double>> heads;

  int64_t length() const {
    return heads.empty() ? 0 : static_cast<int64_t>(heads[0].size());
  }
  // The distances to show: 0, 1, 4, 16, ... and the largest one.
  std::vector<int64_t> Distances() const;
};

// The bias of one query for the keys before it, which has the shape [H, 1, T]
// with the nearest key last.
absl::StatusOr<BiasByDistance> ByDistance(const v1::BiasEncoding& bias);

// The positions of keys to sample for a query at position length - 1, in
// increasing order: all keys up to a distance of 1024, and some at every longer
// scale. The farthest key, position 0, is included.
std::vector<int64_t> SampledKeys(int64_t length);

// The smallest and the largest bias of a head, in training and at the target
// length.
struct HeadBiasRange {
  double trained_low = 0;
  double trained_high = 0;
  double target_low = 0;
  double target_high = 0;
};

struct BiasVerdict {
  double trained_length = 0;
  double target_length = 0;
  std::vector<HeadBiasRange> heads;
  // Heads whose biases at the target length all lie within the trained range.
  std::vector<int64_t> within;
  // Heads with biases below the trained range and none above it: distant keys
  // get less weight than any key in training.
  std::vector<int64_t> below;
  // Heads with biases above the trained range: distant keys get more weight
  // than any key in training.
  std::vector<int64_t> above;

  bool is_known() const { return !heads.empty(); }
};

// Compares the biases of the last query of a sequence of the trained length
// with those of the target length. Biases outside of the trained range by less
// than a thousandth of it do not count. Returns a verdict without heads if the
// number of heads differs.
BiasVerdict JudgeBiases(const BiasByDistance& trained,
                        const BiasByDistance& target);

}  // namespace locus::client
