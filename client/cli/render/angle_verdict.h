// Whether the channel pairs of a scheme stay within the angles that training
// covered, and up to which length.
//
// RoPE depends on positions through the angles between queries and keys. Within
// a training length L, pair k passes through the angles from 0 to L w_k. If
// that is a full turn, training covered every angle, and no length reaches a
// new one. Otherwise a sequence of N tokens stays within trained angles if
// N w'_k <= L w_k, where w'_k is the frequency with a scaling. The longest such
// N is L times the factor by which the scaling stretches the pair (Chen et al.,
// 2023; Peng et al., 2023, section 3.2).
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "client/cli/render/rotation_facts.h"

namespace locus::client {

constexpr double kAnyLength = std::numeric_limits<double>::infinity();

// The angles of a pair at the target length, compared with training.
enum class AngleRange {
  // The pair does not rotate: its angle is always 0.
  kFixed,
  // The pair completes a turn in training, which covers every angle.
  kFullTurn,
  // The pair reaches at most its largest trained angle.
  kWithin,
  // The pair reaches angles that training never covered.
  kBeyond,
};

struct PairVerdict {
  AngleRange range = AngleRange::kBeyond;
  // The largest angle at the target length divided by the largest trained one.
  double reach = 0;
  // The longest sequence within trained angles; kAnyLength if there is no
  // limit. Describes the frequencies of the target length.
  double safe_length = 0;
};

struct AngleVerdict {
  // One element per pair. Empty if the trained length is unknown; there is no
  // verdict then.
  std::vector<PairVerdict> pairs;
  // The indices of the pairs in each range.
  std::vector<int64_t> fixed;
  std::vector<int64_t> full_turn;
  std::vector<int64_t> within;
  std::vector<int64_t> beyond;
  // The reach of the pairs in `beyond`.
  double min_reach = 0;
  double max_reach = 0;
  // The longest sequence that is safe; kAnyLength if there is no limit.
  double safe_length = 0;
  // Whether the target length is safe: no pair is in `beyond` and, for a table
  // that is added to embeddings, no position is past the trained length.
  bool is_safe = false;
  // Whether frequencies depend on the length of the call. The safe lengths of
  // single pairs are then not valid, and `safe_length` comes from
  // SearchSafeLength().
  bool depends_on_length = false;

  bool is_known() const { return !pairs.empty(); }
};

// Judges all pairs at the target length. Angles that agree to 1 in a million
// count as equal, because frequencies may be rounded to single precision. A
// table of sines and cosines is safe up to the trained length only: past it,
// slow columns take new values, and fast ones occur in new combinations.
AngleVerdict JudgeAngles(const RotationFacts& facts);

// The longest safe sequence for a scaling that depends on the length.
// `is_safe(length)` judges a call of that length; the safe lengths must be an
// interval that begins at 1. Returns kAnyLength if 2^52 tokens are safe, and an
// error of `is_safe` unchanged.
absl::StatusOr<double> SearchSafeLength(
    double trained_length,
    absl::FunctionRef<absl::StatusOr<bool>(double)> is_safe);

}  // namespace locus::client
