// The interface between positional schemes and the code that uses them.
//
// A scheme acts at one site: on the embeddings, on queries and keys, on the
// attention scores, or nowhere. For the geometry of one call it compiles to one
// of three forms: a code to add (AdditiveCode), a rotation (Rotation), or a
// score bias (ScoreBias). Attention, encoding, training and the property checks
// use only these forms and never name a scheme.
//
// To add a scheme, write core/encoding/schemes/<name>.cc with a Describe
// function, list the file in CMakeLists.txt beside it, and add a message to
// proto/locus/v1/scheme.proto and a line to core/encoding/registry.cc.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "core/base/positions.h"
#include "core/encoding/parameters.h"
#include "core/encoding/randomize.h"
#include "core/simd/streaming_stores.h"

namespace locus {

// Where a scheme acts.
enum class Site { kNone, kEmbeddings, kQueriesAndKeys, kScores };

// Bounds for Geometry::max_exponent. A factor f is allowed if |log2 f| is at
// most the bound.
// Factors that are stored as float.
inline constexpr double kSingleTableExponent = 126;
// Factors that a float input is multiplied by.
inline constexpr double kSingleInputExponent = 123;
// Factors in a single-precision kernel, which flushes numbers below 2^-126.
inline constexpr double kSingleExponent = 100;
// Factors in double precision.
inline constexpr double kDoubleExponent = 1000;

// The properties of one call that a scheme depends on.
struct Geometry {
  // Width of the embeddings, or of one head. Biases ignore it.
  int64_t dim = 0;
  // Number of heads. Only biases use it.
  int64_t head_count = 0;
  // Largest position of queries and keys; -1 if there are no tokens.
  int64_t max_position = -1;
  // Smallest position of queries and keys; 0 if there are no tokens.
  int64_t min_position = 0;
  // Length that the model was trained for, and length that it is to be extended
  // to, for reporting how often each pair rotates within them. 0 means the
  // scheme's own parameter, if it has one.
  int64_t trained_length = 0;
  double target_length = 0;
  // Max |log2| of a rotation's growth factors, which depends on the type that
  // holds them. One of the k...Exponent constants.
  double max_exponent = kSingleExponent;
  // Whether to expose the scheme's trainable numbers as `parameters`.
  bool trainable = false;
};

// Base class of compiled forms with numbers that training can change.
class Trainable {
 public:
  virtual ~Trainable() = default;
  // The trainable numbers, owned by the compiled scheme. Empty unless the
  // scheme was compiled as trainable and learns something. Write to them only
  // while no other member function is running.
  virtual absl::Span<double> parameters() { return {}; }
};

// A code that is added to the embeddings. Thread-safe, except for writes to
// parameters().
class AdditiveCode : public Trainable {
 public:
  // Computes the code of one position. row: [dim].
  virtual void Row(int64_t position, absl::Span<double> row) const = 0;
  // Computes the codes of the `count` positions from positions[first] on.
  // rows: [count, dim]. Each row depends only on its own position. The default
  // calls Row(); override it if a batch can be computed faster.
  virtual void Rows(const Positions& positions, int64_t first, int64_t count,
                    absl::Span<double> rows, StorePolicy store_policy) const;
  virtual void Rows(const Positions& positions, int64_t first, int64_t count,
                    absl::Span<float> rows, StorePolicy store_policy) const;
  // Backpropagation: adds the gradient with respect to the parameters, given
  // d_row, the gradient with respect to the row of a position.
  virtual void Backward(int64_t position, absl::Span<const double> d_row,
                        absl::Span<double> d_parameters) const {}
  // Radians per position of each pair of columns, for codes made of sines and
  // cosines; empty for others.
  virtual std::vector<double> frequencies() const { return {}; }
  // Number of positions with a row of their own; 0 if the code is defined for
  // all positions.
  virtual int64_t table_length() const { return 0; }
  // Name of the policy for positions past the end of the table; empty if there
  // is no table.
  virtual absl::string_view policy() const { return ""; }
};

// A rotation of pairs of channels of queries and keys.
struct Rotation {
  enum class Pairing {
    kAdjacent,  // channels 2k and 2k + 1
    kHalves,    // channels k and k + pair_count()
  };

  Pairing pairing = Pairing::kAdjacent;
  // Radians per position of each pair. The first 2 * pair_count() channels are
  // rotated; the remaining channels are unchanged.
  std::vector<double> frequencies;
  // Factor of all cosines and sines.
  double attention_factor = 1;
  // If not empty, cosines and sines of pair k are also multiplied by
  // e^(growth[k] (position - centre)) for queries and by the inverse for keys.
  std::vector<double> growth = {};
  int64_t centre = 0;
  // How a RoPE scaling changed the frequencies, for reports. Empty without a
  // scaling and without a known length.
  struct Origin {
    // Frequencies without the scaling.
    std::vector<double> frequencies;
    // Frequencies of a call of the target length, if they differ from those of
    // this call; otherwise empty.
    std::vector<double> target_frequencies;
    // Interpolation weight of each pair in a call of the target length: 0 means
    // unchanged, 1 means slowed down by the whole factor. Empty without a
    // scaling.
    std::vector<double> ramp;
    // Length that the model was trained for; 0 if unknown.
    int64_t original_length = 0;
    // Length that the model is extended to; 0 if unknown.
    double target_length = 0;
  };
  Origin origin = {};
  // Whether angles are computed in single precision, with the same rounding
  // errors as in common frameworks. Frequencies are then representable as
  // float.
  bool single_precision = false;
  // Whether the rotation is only defined for keys at or before their query.
  bool is_causal = false;

  int64_t pair_count() const {
    return static_cast<int64_t>(frequencies.size());
  }
  // This rotation applies to queries. Returns the one that applies to keys.
  Rotation OfKeys() const;
  // Max |log2| of the growth factors at positions `first` to `last`; 0 without
  // growth.
  double GrowthExponent(int64_t first, int64_t last) const;
  // Computes cosine and sine of each pair at a position, including factor and
  // growth. cos, sin: [pairs]. Angles are computed in double for any T, unless
  // single_precision is set.
  template <typename T>
  void Angles(int64_t position, T* cos, T* sin) const;
  // Same as Angles(), for the `count` positions from positions[first] on. cos,
  // sin: [count, pairs]. Each row depends only on its own position.
  template <typename T>
  void AngleRows(const Positions& positions, int64_t first, int64_t count,
                 T* cos, T* sin,
                 StorePolicy store_policy = StorePolicy::kCached) const;
  // Rotates one row of channels in place.
  template <typename T>
  void Apply(const T* cos, const T* sin, T* row) const;
};

// A bias that is added to the attention scores, after scaling. Thread-safe,
// except for writes to parameters().
class ScoreBias : public Trainable {
 public:
  // The bias of one pair of positions.
  virtual double At(int64_t head, int64_t query_position,
                    int64_t key_position) const = 0;
  // Computes At() for the `count` keys from keys[first] on. Override it if a
  // row can be computed faster than one number at a time.
  virtual void Row(int64_t head, int64_t query_position, const Positions& keys,
                   int64_t first, int64_t count, double* values) const;
  // Computes At() for the `count` offsets (query minus key) from `first` on.
  // Only for biases that depend on the offset alone.
  virtual void Offsets(int64_t head, int64_t first, int64_t count,
                       double* values) const;
  // Backpropagation: adds the gradient with respect to the parameters, given
  // d_bias, the gradient with respect to At().
  virtual void Backward(int64_t head, int64_t query_position,
                        int64_t key_position, double d_bias,
                        absl::Span<double> d_parameters) const {}
  // Whether At() depends on query_position - key_position alone.
  virtual bool depends_on_offset_alone() const { return true; }
  // Whether values stay in the range of scores at any distance. If not, a
  // single-precision kernel must work with differences of biases.
  virtual bool is_bounded() const = 0;
  // Upper bound of the change, from one query to the next, of the largest bias
  // among the keys of a query, if the nearest key of each query is at most
  // `nearest` positions away. 0 if every query has a key at its own position
  // and no key has a larger bias. Infinite if unknown.
  virtual double Steepness(int64_t nearest) const {
    return std::numeric_limits<double>::infinity();
  }
  // Upper bound of ln(sum of e^bias) over `count` keys at `offset` (query minus
  // key, not 0) or farther from the query on the same side. Infinite if
  // unknown. Kernels prune keys whose total weight is negligible.
  virtual double LogTail(int64_t head, int64_t offset, int64_t count) const {
    return std::numeric_limits<double>::infinity();
  }
  // Whether the bias is only defined for keys at or before their query.
  virtual bool is_causal() const { return false; }
  // Name of the scheme's boolean parameter that must be set for the bias to be
  // defined on both sides of a query. Only meaningful where is_causal() is
  // true; error messages name the parameter.
  virtual absl::string_view causal_parameter() const { return "symmetric"; }
  // Slope of each head; empty for biases without slopes.
  virtual std::vector<double> slopes() const { return {}; }
  // First distance of each bucket but the first, on one side of a query; empty
  // for biases without buckets.
  virtual std::vector<int64_t> bucket_edges() const { return {}; }
  // A named number that each head has, other than slopes.
  struct HeadNumbers {
    absl::string_view name;
    std::vector<double> values;  // [heads]
  };
  virtual std::vector<HeadNumbers> head_numbers() const { return {}; }
};

// A scheme compiled for one call. std::monostate: the scheme does nothing.
using CompiledScheme =
    std::variant<std::monostate, std::unique_ptr<AdditiveCode>, Rotation,
                 std::unique_ptr<ScoreBias>>;

// Whether the compiled scheme is only defined for keys at or before their
// query.
bool IsCausal(const CompiledScheme& compiled);

// Properties that a scheme can declare, in the order of Promises.
enum class Property {
  kPermutationEquivariance,
  kJointEquivariance,
  kShiftInvariance,
  kLinearShift,
  kRelativeRotation,
  kNormPreservation,
  kBoundedness,
  kUniqueness,
  kMonotonicDecay,
  kSmoothness,
  kLengthIndependence,
  kOpenEndedness,
  kDeterminism,
};
inline constexpr int kPropertyCount = 13;
absl::string_view NameOf(Property property);

// A scheme's declaration of one property. core/properties measures whether it
// is true.
struct Promise {
  enum class Answer { kYes, kNo, kNotApplicable };
  Answer answer;
  // Condition under which the property holds; empty if there is none.
  absl::string_view note = "";
};
using Promises = std::array<Promise, kPropertyCount>;

inline constexpr Promise kYes{Promise::Answer::kYes};
inline constexpr Promise kNo{Promise::Answer::kNo};
inline constexpr Promise kNotApplicable{Promise::Answer::kNotApplicable};

// The implementation of a scheme: its validated parameters, ready to compile.
// Each file in core/encoding/schemes/ derives one class. Immutable and
// thread-safe; keeps no view of the arguments it was made from.
class SchemeFormula {
 public:
  virtual ~SchemeFormula() = default;
  // INVALID_ARGUMENT names the parameter that does not fit the geometry.
  virtual absl::StatusOr<CompiledScheme> Compile(
      const Geometry& geometry) const = 0;
  // The scheme's declared properties, adjusted for these parameters.
  virtual Promises PropertiesWith(const Promises& promises) const {
    return promises;
  }
  // Whether the caller chose the scheme's numbers, instead of a rule.
  virtual bool is_user_specified() const { return false; }
  // Whether the scheme's numbers depend on the largest position of a call.
  virtual bool depends_on_length() const { return false; }
  // Whether the bias depends on both positions, not on their offset alone.
  virtual bool is_pairwise() const { return false; }
  // Number of heads that the parameters are for; 0 if any number is valid.
  virtual int64_t head_count() const { return 0; }
  // Width that the parameters are for; 0 if any width is valid.
  virtual int64_t dim() const { return 0; }
  // Number of positions with a row of their own; 0 if there is no table.
  virtual int64_t table_length() const { return 0; }
};

// How a scheme is trained in an evaluation.
struct TrainingSetting {
  int64_t train_length = 0;
  bool causal = true;
};

// Description of a scheme, for the registry.
struct SchemeInfo {
  // Name of the scheme's field in the Scheme message of the protocol.
  absl::string_view name;
  absl::string_view title;
  Site site;
  std::vector<Parameter> parameters;
  Promises promises;
  absl::string_view reference;
  // Behaviour past the training length, as one sentence.
  absl::string_view beyond_training;
  // Whether the scheme is causal with all parameters.
  bool is_causal_only = false;
  // Whether evaluations that name no schemes include this one.
  bool in_default_evaluation = true;
  // Makes the formula from arguments that Arguments::Check() has accepted.
  absl::StatusOr<std::unique_ptr<SchemeFormula>> (*make)(
      const Arguments& arguments);
  // Sets parameters that the caller left unset to values suitable for training,
  // before the arguments are checked. Null if there are none.
  void (*apply_training_defaults)(const TrainingSetting& setting,
                                  Arguments* arguments) = nullptr;
};

// Max width and max number of heads of a call. They bound the size of frequency
// vectors and bias tables independently of the other sizes of a call.
inline constexpr int64_t kMaxDim = int64_t{1} << 20;
inline constexpr int64_t kMaxHeadCount = 4096;

// A scheme with its parameters. MakeScheme() in core/encoding/registry.h makes
// one. Thread-safe after Randomize(), which must be called before the scheme is
// shared.
class Scheme {
 public:
  Scheme(const SchemeInfo& info, std::unique_ptr<SchemeFormula> formula);

  absl::string_view name() const { return info_.name; }
  Site site() const { return info_.site; }
  // The following functions forward to SchemeFormula.
  Promises PropertiesWith(const Promises& promises) const {
    return formula_->PropertiesWith(promises);
  }
  bool is_user_specified() const { return formula_->is_user_specified(); }
  bool depends_on_length() const { return formula_->depends_on_length(); }
  bool is_pairwise() const { return formula_->is_pairwise(); }
  int64_t head_count() const { return formula_->head_count(); }
  int64_t dim() const { return formula_->dim(); }
  int64_t table_length() const { return formula_->table_length(); }
  // Enables randomised positions; see core/encoding/randomize.h.
  void Randomize(const Randomization& randomization) {
    randomization_ = randomization;
  }
  // Replaces the positions of a call by randomised ones, if they are enabled.
  // Field paths in errors begin with `scheme.randomized`.
  absl::Status RandomizePositions(absl::Span<Positions* const> sequences) const;
  absl::Status RandomizePositions(Positions* queries, Positions* keys) const {
    return RandomizePositions({queries, keys});
  }
  // Compiles the scheme for one call. Field paths in errors begin with
  // `scheme.` and the scheme's name, such as `scheme.rope.rotary_dim`. Returns
  // RESOURCE_EXHAUSTED if a limit is exceeded.
  absl::StatusOr<CompiledScheme> Compile(const Geometry& geometry) const;

 private:
  const SchemeInfo& info_;
  const std::unique_ptr<SchemeFormula> formula_;
  std::optional<Randomization> randomization_;
};

}  // namespace locus
