// What a positional scheme is.
//
// A scheme acts at one of few places: on the embeddings, on queries and keys,
// on the scores, or nowhere. For the geometry of one call it compiles to what
// those places understand: a code to add, a rotation, or a bias. Whoever runs
// attention knows these three and no scheme.
//
// To add one, write core/encoding/<name>.cc with a Describe function, give it a
// message in proto/locus/v1/scheme.proto and a line in schemes.cc.
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
#include "core/simd/streaming_stores.h"
#include "core/encoding/parameters.h"
#include "core/encoding/randomize.h"

namespace locus {

enum class Site { kNowhere, kEmbeddings, kQueriesAndKeys, kScores };

// Exponents for factors that are stored in single precision, for those that an
// input is also multiplied by there, for those that a kernel in single
// precision works with, which drops numbers below 2^-126, and for doubles.
inline constexpr double kSingleTableExponent = 126;
inline constexpr double kSingleInputExponent = 123;
inline constexpr double kSingleExponent = 100;
inline constexpr double kDoubleExponent = 1000;

// What one call looks like to a scheme.
struct Geometry {
  // The width of the embeddings, or of one head. Unused by biases.
  int64_t dim = 0;
  // Used by biases alone.
  int64_t head_count = 0;
  // The largest position of queries and keys; -1 if there is none.
  int64_t max_position = -1;
  // The smallest.
  int64_t min_position = 0;
  // The lengths that a model was trained for and is to reach, for those who ask
  // how often pairs turn within them; 0 where the scheme itself is to say.
  int64_t trained_length = 0;
  double target_length = 0;
  // How far from 1 a rotation's factors may get, as the exponent of a power of
  // two: what holds the numbers decides.
  double max_exponent = kSingleExponent;
  // Whether the scheme's own numbers are to be trained; those that can be then
  // appear as `parameters`.
  bool trainable = false;
};

// Numbers of a compiled scheme that training changes. They are the scheme's
// own: whoever trains writes them, between calls of anything else.
class Trainable {
 public:
  virtual ~Trainable() = default;
  // Empty unless compiled as trainable, and for schemes that learn nothing.
  virtual absl::Span<double> parameters() { return {}; }
};

// Added to the embeddings. Thread-safe.
class AdditiveCode : public Trainable {
 public:
  // The code of one position; row: [dim].
  virtual void Row(int64_t position, absl::Span<double> row) const = 0;
  // The codes of positions[first] and the count - 1 after it; rows: [count,
  // dim]. What a row is does not depend on the others asked for. A scheme that
  // can do better than one row at a time says so here.
  virtual void Rows(const Positions& positions, int64_t first, int64_t count,
                    absl::Span<double> rows, Writes writes) const;
  virtual void Rows(const Positions& positions, int64_t first, int64_t count,
                    absl::Span<float> rows, Writes writes) const;
  // Adds to `d_parameters` what a gradient of the row at a position is for the
  // parameters.
  virtual void Backward(int64_t position, absl::Span<const double> d_row,
                        absl::Span<double> d_parameters) const {}
  // The radians from one position to the next, for each pair of columns, if it
  // is made of sines and cosines.
  virtual std::vector<double> frequencies() const { return {}; }
  // How many positions have a row of their own; 0 if the code does not end.
  virtual int64_t table_length() const { return 0; }
  // What positions past a table that ends get, by the name of the choice; empty
  // if it does not end.
  virtual absl::string_view policy() const { return ""; }
};

// Turns pairs of channels of queries and keys.
struct Rotation {
  enum class Pairing { kAdjacent, kHalves };

  Pairing pairing = Pairing::kAdjacent;
  // The radians from one position to the next, for each pair; twice as many
  // leading channels turn, the others stay.
  std::vector<double> frequencies;
  // Cosines and sines are multiplied by it.
  double attention_factor = 1;
  // If not empty, those of pair k also by e^(growth[k] (position - centre)):
  // queries by this, keys by its inverse.
  std::vector<double> growth = {};
  int64_t centre = 0;
  // What a scaling made it from, for those who want to know; empty if there is
  // neither a scaling nor a length.
  struct Origin {
    // Without the scaling.
    std::vector<double> frequencies;
    // Of a call as long as the target, where those of this call differ; empty
    // where they do not.
    std::vector<double> target_frequencies;
    // How far each pair is on the way from untouched, 0, to slowed down by the
    // whole factor, 1, in such a call. Empty without a scaling.
    std::vector<double> ramp;
    // 0 if nobody knows.
    int64_t original_length = 0;
    double target_length = 0;
  };
  Origin origin = {};
  // Whether angles are taken in single precision, errors and all, as frameworks
  // take them. Frequencies are floats then.
  bool single_precision = false;
  // Whether it only has a meaning where keys do not follow their query.
  bool is_causal = false;

  int64_t pair_count() const {
    return static_cast<int64_t>(frequencies.size());
  }
  // This one turns queries; what turns the keys.
  Rotation OfKeys() const;
  // How far from 1 factors get at positions `first` to `last`, as the exponent
  // of a power of two; 0 if nothing grows.
  double GrowthExponent(int64_t first, int64_t last) const;
  // Cosine and sine of each pair at a position, factor and growth included.
  // Angles are taken in double, whatever T is, unless in single precision.
  template <typename T>
  void Angles(int64_t position, T* cos, T* sin) const;
  // The same for positions[first] and the count - 1 after it; cos and sin:
  // [count, pairs]. What a row is does not depend on the others asked for.
  template <typename T>
  void AngleRows(const Positions& positions, int64_t first, int64_t count,
                 T* cos, T* sin, Writes writes = Writes::kThroughCache) const;
  // Turns one row of channels in place.
  template <typename T>
  void Apply(const T* cos, const T* sin, T* row) const;
};

// Added to the scores, after the scale. Thread-safe.
class ScoreBias : public Trainable {
 public:
  virtual double At(int64_t head, int64_t query_position,
                    int64_t key_position) const = 0;
  // At for the keys at keys[first] and the count - 1 after it. A bias that can
  // do better than one number at a time says so here.
  virtual void Row(int64_t head, int64_t query_position, const Positions& keys,
                   int64_t first, int64_t count, double* values) const;
  // Of those that depend on the offset alone: At for `first` and the count - 1
  // offsets after it, query less key.
  virtual void Offsets(int64_t head, int64_t first, int64_t count,
                       double* values) const;
  // Adds to `d_parameters` what a gradient of At is for the parameters.
  virtual void Backward(int64_t head, int64_t query_position,
                        int64_t key_position, double d_bias,
                        absl::Span<double> d_parameters) const {}
  // Whether At depends on query_position - key_position alone.
  virtual bool depends_on_offset_alone() const { return true; }
  // Whether values stay of the size of scores, however far apart tokens are. If
  // not, a kernel in single precision has to work with differences.
  virtual bool is_small() const = 0;
  // The most by which the largest bias that a query sees changes from one query
  // to the next, if the nearest key of each is at most so far from it: nothing
  // where all have a key at their own position and none weighs more. Infinite
  // if nobody knows.
  virtual double Steepness(int64_t nearest) const {
    return std::numeric_limits<double>::infinity();
  }
  // An upper bound of what `count` keys at that offset from their query, not 0,
  // or farther on the same side, weigh together: ln of the sum of e^bias.
  // Infinite if nobody knows. A kernel may leave out keys whose weight cannot
  // be seen.
  virtual double LogTail(int64_t head, int64_t offset, int64_t count) const {
    return std::numeric_limits<double>::infinity();
  }
  // Whether it only has a meaning where keys do not follow their query.
  virtual bool is_causal() const { return false; }
  // One for each head, if it has slopes.
  virtual std::vector<double> slopes() const { return {}; }
  // Where buckets of distances begin on one side, if it has buckets.
  virtual std::vector<int64_t> bucket_edges() const { return {}; }
  // Other numbers that each head has, by name.
  struct HeadNumbers {
    absl::string_view name;
    std::vector<double> values;  // [heads]
  };
  virtual std::vector<HeadNumbers> head_numbers() const { return {}; }
};

using CompiledScheme =
    std::variant<std::monostate, std::unique_ptr<AdditiveCode>, Rotation,
                 std::unique_ptr<ScoreBias>>;

// Whether it only has a meaning where keys do not follow their query.
bool IsCausal(const CompiledScheme& compiled);

// The properties of position schemes, in the order of Promises.
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
};
inline constexpr int kPropertyCount = 9;
absl::string_view NameOf(Property property);

struct Promise {
  enum class Answer { kYes, kNo, kNotApplicable };
  Answer answer;
  // The condition under which it holds, if there is one.
  absl::string_view note = "";
};
using Promises = std::array<Promise, kPropertyCount>;

inline constexpr Promise kYes{Promise::Answer::kYes};
inline constexpr Promise kNo{Promise::Answer::kNo};
inline constexpr Promise kNotApplicable{Promise::Answer::kNotApplicable};

// What a scheme's file implements: its parameters, ready to compile. Immutable,
// thread-safe, keeps no view of the arguments it was made from.
class SchemeFormula {
 public:
  virtual ~SchemeFormula() = default;
  // INVALID_ARGUMENT names a parameter of the scheme that does not fit.
  virtual absl::StatusOr<CompiledScheme> Compile(
      const Geometry& geometry) const = 0;
  // The scheme's promises, as they are with these parameters.
  virtual Promises Amended(const Promises& promises) const { return promises; }
  // Whether its numbers are ones that the caller chose, rather than a rule's.
  virtual bool is_given() const { return false; }
  // Whether its numbers follow from the largest position of a call.
  virtual bool depends_on_length() const { return false; }
  // Whether a bias depends on both positions, not on their offset alone.
  virtual bool is_pairwise() const { return false; }
  // The number of heads its parameters were made for; 0 if any will do.
  virtual int64_t head_count() const { return 0; }
  // The width its parameters were made for; 0 if any will do.
  virtual int64_t dim() const { return 0; }
  // How many positions have a row of their own; 0 if there is no table of
  // positions.
  virtual int64_t table_length() const { return 0; }
};

// What a scheme is trained for, when it is evaluated.
struct TrainingSetting {
  int64_t train_length = 0;
  bool causal = true;
};

// Everything there is to say of a scheme.
struct SchemeInfo {
  // The name of its field in the contract.
  absl::string_view name;
  absl::string_view title;
  Site site;
  std::vector<Parameter> parameters;
  Promises promises;
  absl::string_view reference;
  absl::string_view beyond_training;
  // Whether no parameter makes it one for attention in both directions.
  bool is_causal_only = false;
  // Whether evaluations take part with it unless told which schemes to race.
  bool is_raced = true;
  // Takes checked arguments.
  absl::StatusOr<std::unique_ptr<SchemeFormula>> (*make)(
      const Arguments& arguments);
  // Chooses what a scheme that is to be trained leaves open, before arguments
  // are checked; null if there is nothing to choose.
  void (*suit)(const TrainingSetting& setting, Arguments* arguments) = nullptr;
};

// No call is wider or has more heads than this, whatever its other sizes, so
// that no vector of frequencies or table of biases outgrows the call it is for.
inline constexpr int64_t kMaxDim = int64_t{1} << 20;
inline constexpr int64_t kMaxHeadCount = 4096;

// A scheme with its parameters, as everyone but its own file sees it.
// Thread-safe, and immutable once shared; made by MakeScheme.
class Scheme {
 public:
  Scheme(const SchemeInfo& info, std::unique_ptr<SchemeFormula> formula);

  absl::string_view name() const { return info_.name; }
  Site site() const { return info_.site; }
  Promises Amended(const Promises& promises) const {
    return formula_->Amended(promises);
  }
  bool is_given() const { return formula_->is_given(); }
  bool depends_on_length() const { return formula_->depends_on_length(); }
  bool is_pairwise() const { return formula_->is_pairwise(); }
  int64_t head_count() const { return formula_->head_count(); }
  int64_t dim() const { return formula_->dim(); }
  int64_t table_length() const { return formula_->table_length(); }
  // Makes positions of calls random ones; before the scheme is shared.
  void Randomize(const Randomization& randomization) {
    randomization_ = randomization;
  }
  // Replaces the positions of a call by those that the scheme is to see. Field
  // paths in errors begin with `scheme.randomized`.
  absl::Status Place(Positions* queries, Positions* keys) const;
  // What the scheme is in one call. Field paths in errors begin with `scheme.`
  // and its name, such as `scheme.rope.rotary_dim`; limits are
  // RESOURCE_EXHAUSTED.
  absl::StatusOr<CompiledScheme> Compile(const Geometry& geometry) const;

 private:
  const SchemeInfo& info_;
  const std::unique_ptr<SchemeFormula> formula_;
  std::optional<Randomization> randomization_;
};

}  // namespace locus
