// Ways to stretch RoPE past the length it was trained for.
//
// A scaling changes the frequencies of the pairs, and may multiply cosines and
// sines by an attention factor. To add one, write
// core/encoding/rope_scaling/<name>.cc with a Describe function, give it a
// message in proto/locus/v1/scheme.proto and a line in scaling.cc.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "core/encoding/parameters.h"

namespace locus {

// What RoPE is in one call, before it is stretched.
struct RopeShape {
  double base = 10000;
  int64_t rotary_dim = 0;
  // Of the whole head.
  int64_t dim = 0;
  // The largest position of the call and one more.
  double length = 0;

  int64_t pair_count() const { return rotary_dim / 2; }
};

// base^(-2k / dim): what pair k of `dim` channels turns by at each position.
inline double PairFrequency(double base, int64_t k, int64_t dim) {
  return std::pow(base,
                  -2.0 * static_cast<double>(k) / static_cast<double>(dim));
}
// Of all pairs of a shape.
std::vector<double> PairFrequencies(const RopeShape& shape);

struct ScaledPairs {
  // Of rotary_dim / 2 pairs.
  std::vector<double> frequencies;
  double attention_factor = 1;
};

// A scaling with its parameters. Immutable, thread-safe.
class RopeScaling {
 public:
  virtual ~RopeScaling() = default;
  // INVALID_ARGUMENT names a parameter that does not fit the shape.
  virtual absl::StatusOr<ScaledPairs> Scale(const RopeShape& shape) const = 0;
  // Cosines and sines are multiplied by it, whatever the shape.
  virtual double attention_factor() const { return 1; }
  // The length that was trained for and the one aimed at, as far as the
  // parameters say, else 0.
  struct Lengths {
    int64_t original = 0;
    double target = 0;
  };
  virtual Lengths lengths() const { return {}; }
  // Whether frequencies follow from the call's length.
  virtual bool depends_on_length() const { return false; }
  // The rotary dimension its parameters were made for; 0 if any will do.
  virtual int64_t rotary_dim() const { return 0; }
  // Whether it is about the whole head, so that no rotary dimension can be set.
  virtual bool needs_whole_head() const { return false; }
};

struct RopeScalingInfo {
  // The name of its field in the contract.
  absl::string_view name;
  absl::string_view description;
  std::vector<Parameter> parameters;
  // Whether a factor alone says how to stretch a model that was trained without
  // it.
  bool can_retrofit = true;
  // Takes checked arguments, by the names of `parameters`.
  absl::StatusOr<std::unique_ptr<RopeScaling>> (*make)(
      const Arguments& arguments);
};

// All of them, in the order of the contract.
absl::Span<const RopeScalingInfo> AllRopeScalings();

// Parameters that several scalings have.
Parameter ScalingFactor(double default_factor = 1);
Parameter OriginalLength(double default_length = 2048);
Parameter GivenAttentionFactor();

}  // namespace locus
