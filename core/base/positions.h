// Token positions.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"

namespace locus {

// The positions of the tokens of a sequence: a range of consecutive positions
// or an arbitrary list of ids, all of them non-negative. A range takes constant
// memory. Immutable and therefore thread-safe; copies share the ids.
class Positions {
 public:
  // An empty sequence.
  Positions() = default;
  // The `count` positions start, start + 1, ... Returns INVALID_ARGUMENT (field
  // `start` or `count`) if an argument is negative or the last position does
  // not fit into int64.
  static absl::StatusOr<Positions> Range(int64_t start, int64_t count);
  // The given positions, in any order. Returns INVALID_ARGUMENT (field
  // `ids[i]`) if one is negative.
  static absl::StatusOr<Positions> Ids(std::vector<int64_t> ids);

  int64_t size() const { return size_; }
  int64_t operator[](int64_t i) const {
    return is_range_ ? start_ + i : (*ids_)[i];
  }
  // Whether the positions are consecutive: each is its predecessor plus one.
  bool is_range() const { return is_range_; }
  // The largest position; -1 if the sequence is empty.
  int64_t max() const { return max_; }
  // The smallest position; 0 if the sequence is empty.
  int64_t min() const { return min_; }

 private:
  bool is_range_ = true;
  int64_t start_ = 0;
  int64_t size_ = 0;
  int64_t max_ = -1;
  int64_t min_ = 0;
  std::shared_ptr<const std::vector<int64_t>> ids_;
};

// A range of offsets between positions: lowest, lowest + 1, ..., `count` of
// them.
struct OffsetRange {
  int64_t lowest = 0;
  int64_t count = 0;
};
// The smallest range that contains all offsets `to - from` between positions of
// two sequences. nullopt if a sequence is empty, or if the range has more than
// `max_count` offsets.
std::optional<OffsetRange> OffsetsBetween(const Positions& from,
                                          const Positions& to,
                                          int64_t max_count);

// The smallest position of both sequences; 0 if both are empty.
int64_t SmallestOf(const Positions& a, const Positions& b);

}  // namespace locus
