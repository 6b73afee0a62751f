// What the worked cases of properties share: an outcome, and a scheme that is
// asked for its numbers.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/encoding/scheme.h"
#include "core/properties/properties.h"

namespace locus {

struct Outcome {
  enum class Kind {
    kMeasured,
    kNoMeaning,  // for such a scheme
    kNotRun,     // with the scheme's parameters
  };
  Kind kind = Kind::kNoMeaning;
  double measured = 0;
  double tolerance = 0;
  std::string worked_case;
};
Outcome Measured(double measured, double tolerance, std::string worked_case);
Outcome NoMeaning(absl::string_view why);
Outcome NotRun(absl::string_view why);

PropertyResult ResultOf(absl::string_view property, const Outcome& outcome,
                        Promise::Answer promise);

// `value` with so many significant digits.
std::string Digits(double value, int digits);

using Row = std::vector<double>;
double Dot(const Row& a, const Row& b);
double Norm(const Row& a);
double Distance(const Row& a, const Row& b);
double LargestDifference(const Row& a, const Row& b);
double LargestMagnitude(const Row& a);
// Whether no number differs by more than that. True where one is no number.
bool AreWithin(double tolerance, const Row& a, const Row& b);

// Widths beyond this are not tried out.
inline constexpr int64_t kMaxCaseDim = 1024;

// A scheme compiled for sequences of one length.
class Probe {
 public:
  // Of the width and the heads that the scheme's parameters fix, or else those
  // wanted; rotations that do not fit get twice the width until they do.
  static absl::StatusOr<Probe> Make(const Scheme& scheme, int64_t length,
                                    int64_t dim = 16, int64_t head_count = 2);
  // Of the largest power of two up to `limit` that is a length the scheme
  // serves. A scheme is compiled once, beyond what it refuses.
  static absl::StatusOr<Probe> Farthest(const Scheme& scheme, int64_t limit,
                                        int64_t dim = 16);
  // The same, but of a table no more than the table, and then to its end.
  static absl::StatusOr<Probe> WithinTable(const Scheme& scheme, int64_t limit,
                                           int64_t dim = 16);

  int64_t dim() const { return dim_; }
  int64_t length() const { return length_; }
  // One of these, or none.
  const AdditiveCode* code() const;
  const Rotation* rotation() const;
  const ScoreBias* bias() const;
  bool is_empty() const;
  bool is_causal() const { return IsCausal(compiled_); }

  Row Code(int64_t position) const;
  // As a query, and as a key, is turned.
  Row Rotate(int64_t position, Row row) const;
  Row RotateKey(int64_t position, Row row) const;
  // The bias of every head.
  Row Bias(int64_t query, int64_t key) const;
  // What tells position n from others: its code, its rotation, or the bias of a
  // query for the key that lies n before it. The query is the last unless said.
  Row Mark(int64_t n) const { return Mark(n, length_ - 1); }
  Row Mark(int64_t n, int64_t query) const;

 private:
  Probe(CompiledScheme compiled, int64_t dim, int64_t head_count,
        int64_t length);

  CompiledScheme compiled_;
  int64_t dim_;
  int64_t head_count_;
  int64_t length_;
};

}  // namespace locus
