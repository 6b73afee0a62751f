// Building blocks of the property checks: the outcome of one check, helpers for
// small vectors, and Probe, which evaluates a scheme at single positions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/encoding/scheme.h"
#include "core/properties/properties.h"

namespace locus {

// Seed of the random inputs of all checks.
inline constexpr uint64_t kPropertySeed = 42;
// Longest sequence that a check compiles a scheme for.
inline constexpr int64_t kMaxProbeLength = int64_t{1} << 20;
// Number of leading positions that are examined one by one.
inline constexpr int64_t kDensePositions = 256;
// Largest difference, relative to the largest magnitude, of numbers that count
// as equal.
inline constexpr double kEqualityTolerance = 1e-9;

// Outcome of one check, before it is compared with the promise.
struct CheckOutcome {
  enum class Kind {
    kMeasured,
    kUndefined,  // the property is not defined for this kind of scheme
    kNotRun,     // the scheme's parameters do not permit the check
  };
  Kind kind = Kind::kUndefined;
  // The property holds if `measured` is at most `tolerance`. Set for kMeasured.
  double measured = 0;
  double tolerance = 0;
  // Description of the check and its result, for people.
  std::string worked_case;
};
CheckOutcome Measured(double measured, double tolerance,
                      std::string worked_case);
// `reason` completes "Not applicable: ....".
CheckOutcome NotApplicable(absl::string_view reason);
// `reason` completes "Not run: ....".
CheckOutcome NotRun(absl::string_view reason);

// Turns an outcome into a verdict and compares it with the promise.
PropertyResult ResultOf(absl::string_view property, const CheckOutcome& outcome,
                        Promise::Answer promise);

// Formats `value` with `digits` significant digits.
std::string FormatDigits(double value, int digits);

using RealVector = std::vector<double>;
double Dot(const RealVector& a, const RealVector& b);
double Norm(const RealVector& a);
double Distance(const RealVector& a, const RealVector& b);
// Largest |a[n] - b[n]|; NaN if any difference is NaN.
double MaxAbsDifference(const RealVector& a, const RealVector& b);
// Largest |a[n]|; NaN if any element is NaN.
double MaxAbs(const RealVector& a);
// Returns true if no |a[n] - b[n]| exceeds `tolerance`. Differences that are
// NaN do not count as exceeding it.
bool AllWithin(double tolerance, const RealVector& a, const RealVector& b);
// Raises *max to `value` if that is larger. NaNs are kept.
void UpdateMax(double value, double* max);

// Widest rotation that is checked, in channels.
inline constexpr int64_t kMaxCaseDim = 1024;

// A scheme compiled for sequences of one length, evaluated in double precision.
class Probe {
 public:
  // Compiles `scheme` for `length` positions. A width or head count that is
  // fixed by the scheme's parameters takes precedence over `dim` and
  // `head_count`. The width of a rotation that does not fit is doubled, up to
  // kMaxCaseDim.
  static absl::StatusOr<Probe> Make(const Scheme& scheme, int64_t length,
                                    int64_t dim = 16, int64_t head_count = 2);
  // Compiles `scheme` for the largest power of two up to `limit` that it
  // accepts as a length.
  static absl::StatusOr<Probe> Longest(const Scheme& scheme, int64_t limit,
                                       int64_t dim = 16);
  // Like Longest(), but a scheme with a table is compiled for at most the
  // table's length, which need not be a power of two.
  static absl::StatusOr<Probe> WithinTable(const Scheme& scheme, int64_t limit,
                                           int64_t dim = 16);

  int64_t dim() const { return dim_; }
  int64_t length() const { return length_; }
  // At most one of these is not null.
  const AdditiveCode* code() const;
  const Rotation* rotation() const;
  const ScoreBias* bias() const;
  // Returns true if the scheme compiled to none of the three.
  bool is_empty() const;
  bool is_causal() const { return IsCausal(compiled_); }

  // Code of one position. Requires code().
  RealVector Code(int64_t position) const;
  // `row` rotated as a query, or as a key, at `position`. Requires rotation().
  RealVector RotateQuery(int64_t position, RealVector row) const;
  RealVector RotateKey(int64_t position, RealVector row) const;
  // Bias of each head for one pair of positions. Requires bias().
  RealVector Bias(int64_t query, int64_t key) const;
  // Numbers by which position n differs from others: its code, the cosines and
  // sines of its rotation, or the biases of `query` (by default the last
  // position) for the key n positions before it. Empty if is_empty().
  RealVector Signature(int64_t n) const { return Signature(n, length_ - 1); }
  RealVector Signature(int64_t n, int64_t query) const;
  // Signatures of positions 0 to count - 1.
  std::vector<RealVector> Signatures(int64_t count) const;

 private:
  Probe(CompiledScheme compiled, int64_t dim, int64_t head_count,
        int64_t length);

  CompiledScheme compiled_;
  int64_t dim_;
  int64_t head_count_;
  int64_t length_;
};

// Returns the outcome of a check that cannot be measured: the scheme did not
// compile, has no positions, or serves fewer than `min_length` of them. Returns
// nullopt if the check can proceed.
std::optional<CheckOutcome> Unmeasurable(const absl::StatusOr<Probe>& probe,
                                         int64_t min_length);

// Plural noun for the signatures of a scheme, such as "codes of positions".
absl::string_view SignatureNoun(const Scheme& scheme);

}  // namespace locus
