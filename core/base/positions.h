// Where tokens stand.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"

namespace locus {

// Positions of a sequence, never negative: a range, or any list of ids. A range
// costs nothing to store however long it is. Immutable; copies share the ids.
class Positions {
 public:
  // None.
  Positions() = default;
  // start, start + 1, ... INVALID_ARGUMENT (fields `start`, `count`) if either
  // is negative or the last position is beyond int64.
  static absl::StatusOr<Positions> Range(int64_t start, int64_t count);
  // INVALID_ARGUMENT (field `ids[i]`) if one is negative.
  static absl::StatusOr<Positions> Ids(std::vector<int64_t> ids);

  int64_t size() const { return size_; }
  int64_t operator[](int64_t i) const {
    return is_range_ ? start_ + i : (*ids_)[i];
  }
  // Whether each position is the one before plus one.
  bool is_range() const { return is_range_; }
  // The largest position; -1 if there is none.
  int64_t max() const { return max_; }
  // The smallest position; 0 if there is none.
  int64_t min() const { return min_; }

 private:
  bool is_range_ = true;
  int64_t start_ = 0;
  int64_t size_ = 0;
  int64_t max_ = -1;
  int64_t min_ = 0;
  std::shared_ptr<const std::vector<int64_t>> ids_;
};

// The distances `of - from` that positions of two sequences can have.
struct OffsetRange {
  int64_t lowest = 0;
  int64_t count = 0;
};
// None if a sequence is empty, or if there are more than `most`.
std::optional<OffsetRange> OffsetsBetween(const Positions& from,
                                          const Positions& of, int64_t most);

// The smallest of both; 0 if there is none.
int64_t SmallestOf(const Positions& a, const Positions& b);

}  // namespace locus
