// Ways to stretch RoPE past the length it was trained for.
//
// A scaling changes the frequencies of the pairs, and may multiply cosines and
// sines by an attention factor. To add one, write
// core/encoding/rope_scaling/<name>.cc with a Describe function, give it a
// message in proto/locus/v1/scheme.proto and a line in scaling.cc.
//
// A scaling writes its formula once, for numbers of a type T that the shape
// chooses. In double it is the formula. In float it is what frameworks compute
// from it, step by step, which is another number: at position 1e6 a frequency
// that is off by half a unit of single precision turns the fastest pairs by
// 0.03. What a configuration holds as a plain number (base, factors, lengths)
// is taken in double there, and rounded where it meets a list of frequencies.
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
  // Whether frequencies are computed in float, as frameworks do.
  bool single_precision = false;

  int64_t pair_count() const { return rotary_dim / 2; }
};

// base^(-2k / r) / stretch: what pair k turns by at each position if it is
// slowed down so many times. T is float or double.
template <typename T>
T PairFrequency(const RopeShape& shape, int64_t k, T stretch = 1);
template <>
double PairFrequency(const RopeShape& shape, int64_t k, double stretch);
template <>
float PairFrequency(const RopeShape& shape, int64_t k, float stretch);
// Of all pairs of a shape, in its arithmetic.
std::vector<double> PairFrequencies(const RopeShape& shape);

// Calls frequency(k, T()) for each pair of a shape, where T is the type of its
// arithmetic.
template <typename Frequency>
std::vector<double> EachPair(const RopeShape& shape,
                             const Frequency& frequency) {
  std::vector<double> frequencies(shape.pair_count());
  for (int64_t k = 0; k < shape.pair_count(); ++k) {
    frequencies[k] =
        shape.single_precision ? frequency(k, float()) : frequency(k, double());
  }
  return frequencies;
}

struct ScaledPairs {
  // Of rotary_dim / 2 pairs.
  std::vector<double> frequencies;
  double attention_factor = 1;
  // How far each pair is on the way from untouched, 0, to slowed down by the
  // whole factor, 1, where the formula has such a ramp; else it follows from
  // the frequencies.
  std::vector<double> ramp = {};
};

// A scaling with its parameters. Immutable, thread-safe.
class RopeScaling {
 public:
  virtual ~RopeScaling() = default;
  // INVALID_ARGUMENT names a parameter that does not fit the shape.
  virtual absl::StatusOr<ScaledPairs> Scale(const RopeShape& shape) const = 0;
  // Cosines and sines are multiplied by it, whatever the shape.
  virtual double attention_factor() const { return 1; }
  // How many times longer sequences get.
  virtual double factor() const = 0;
  // The length that was trained for, if the parameters say, else 0.
  virtual int64_t original_length() const { return 0; }
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
  // Sets what a model that was trained without it needs besides factor and
  // length, by the names of `parameters`; null if that is nothing.
  void (*retrofit)(double factor, int64_t rotary_dim,
                   Arguments* arguments) = nullptr;
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
