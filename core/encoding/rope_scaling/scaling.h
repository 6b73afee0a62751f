// RoPE scalings: methods that extend RoPE past its training length.
//
// A scaling changes the frequencies of the pairs and may multiply cosines and
// sines by an attention factor. To add one, write
// core/encoding/rope_scaling/<name>.cc with a Describe function, list the file
// in CMakeLists.txt beside it, and add a message to
// proto/locus/v1/scheme.proto and a line to scaling.cc.
//
// Each scaling implements its formula once, as a template over the type T in
// which it is evaluated. With T = double the result is exact to double
// precision. With T = float it has the same rounding errors as common
// frameworks, which matter: at position 1e6, half a unit in the last place of a
// single-precision frequency changes the angle of the fastest pairs by 0.03
// radians. As in those frameworks, scalars of the configuration (base, factors,
// lengths) are doubles and are rounded where they are combined with a tensor of
// frequencies.
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

// RoPE in one call, before scaling.
struct RopeShape {
  double base = 10000;
  // Number of channels that are rotated.
  int64_t rotary_dim = 0;
  // Number of channels of the whole head.
  int64_t dim = 0;
  // Length of the call: its largest position plus one.
  double length = 0;
  // Whether frequencies are computed in float, as in common frameworks.
  bool single_precision = false;

  int64_t pair_count() const { return rotary_dim / 2; }
};

// base^(-2k / rotary_dim) / stretch: radians per position of pair k, slowed
// down by a factor of `stretch`. T is float or double.
template <typename T>
T PairFrequency(const RopeShape& shape, int64_t k, T stretch = 1);
template <>
double PairFrequency(const RopeShape& shape, int64_t k, double stretch);
template <>
float PairFrequency(const RopeShape& shape, int64_t k, float stretch);
// Frequencies of all pairs, computed in the precision of the shape.
std::vector<double> PairFrequencies(const RopeShape& shape);

// Collects frequency(k, T()) of each pair, where T is float or double according
// to the precision of the shape.
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

// Result of a scaling.
struct ScaledPairs {
  std::vector<double> frequencies;  // [rotary_dim / 2]
  // Factor of cosines and sines.
  double attention_factor = 1;
  // Interpolation weight of each pair, if the formula has one: 0 means
  // unchanged, 1 means slowed down by the whole factor. If empty, the weights
  // are derived from the frequencies.
  std::vector<double> ramp = {};
};

// A scaling with its parameters. Immutable and thread-safe.
class RopeScaling {
 public:
  virtual ~RopeScaling() = default;
  // INVALID_ARGUMENT names the parameter that does not fit the shape.
  virtual absl::StatusOr<ScaledPairs> Scale(const RopeShape& shape) const = 0;
  // Factor of cosines and sines; the same for all shapes.
  virtual double attention_factor() const { return 1; }
  // Ratio of the extended length to the original length.
  virtual double factor() const = 0;
  // Length that the model was trained for; 0 if the scaling has no such
  // parameter.
  virtual int64_t original_length() const { return 0; }
  // Whether frequencies depend on the length of the call.
  virtual bool depends_on_length() const { return false; }
  // Rotary dimension that the parameters are for; 0 if any is valid.
  virtual int64_t rotary_dim() const { return 0; }
  // Whether the scaling needs a rotary dimension equal to the head's dimension.
  virtual bool needs_whole_head() const { return false; }
};

// Description of a scaling.
struct RopeScalingInfo {
  // Name of the scaling's field in the RopeScheme message of the protocol.
  absl::string_view name;
  absl::string_view description;
  std::vector<Parameter> parameters;
  // Sets the parameters, other than factor and length, that a model trained
  // without this scaling needs. Null if there are none.
  void (*retrofit)(double factor, int64_t rotary_dim,
                   Arguments* arguments) = nullptr;
  // Makes the scaling from arguments that Arguments::Check() has accepted,
  // named as in `parameters`.
  absl::StatusOr<std::unique_ptr<RopeScaling>> (*make)(
      const Arguments& arguments);
};

// All scalings, in the order of the protocol's RopeScheme message.
absl::Span<const RopeScalingInfo> AllRopeScalings();

// Parameters that several scalings share: `factor`, `original_length` and
// `attention_factor`.
Parameter ScalingFactor(double default_factor = 1);
Parameter OriginalLength(double default_length = 2048);
Parameter GivenAttentionFactor();

}  // namespace locus
