#include "core/base/positions.h"

#include <algorithm>
#include <utility>

#include "core/base/shape.h"
#include "core/base/status.h"

namespace locus {

absl::StatusOr<Positions> Positions::Range(int64_t start, int64_t count) {
  if (start < 0) {
    return InvalidField(
        "start",
        absl::StrCat("is ", start, "; positions must not be negative"));
  }
  if (count < 0) {
    return InvalidField("count",
                        absl::StrCat("is ", count, "; must not be negative"));
  }
  if (!CheckedAdd(start, count).has_value()) {
    return InvalidField("count",
                        absl::StrCat("is ", count, " from start ", start,
                                     "; positions end at 2^63 - 1"));
  }
  Positions positions;
  positions.start_ = start;
  positions.size_ = count;
  positions.max_ = count == 0 ? -1 : start + count - 1;
  positions.min_ = count == 0 ? 0 : start;
  return positions;
}

absl::StatusOr<Positions> Positions::Ids(std::vector<int64_t> ids) {
  Positions positions;
  for (size_t i = 0; i < ids.size(); ++i) {
    if (ids[i] < 0) {
      return InvalidField(
          absl::StrCat("ids[", i, "]"),
          absl::StrCat("is ", ids[i], "; positions must not be negative"));
    }
    positions.max_ = std::max(positions.max_, ids[i]);
    positions.min_ = i == 0 ? ids[i] : std::min(positions.min_, ids[i]);
  }
  positions.size_ = static_cast<int64_t>(ids.size());
  bool consecutive = true;
  for (size_t i = 1; i < ids.size(); ++i) {
    consecutive &= ids[i] - 1 == ids[i - 1];
  }
  positions.is_range_ = consecutive;
  if (consecutive) {
    positions.start_ = ids.empty() ? 0 : ids[0];
  } else {
    positions.ids_ =
        std::make_shared<const std::vector<int64_t>>(std::move(ids));
  }
  return positions;
}

std::optional<OffsetRange> OffsetsBetween(const Positions& from,
                                          const Positions& to,
                                          int64_t max_count) {
  if (from.size() == 0 || to.size() == 0) return std::nullopt;
  // The difference of two non-negative numbers always fits into int64.
  const int64_t lowest = to.min() - from.max();
  const int64_t highest = to.max() - from.min();
  const auto distance = CheckedAdd(highest, -lowest);
  if (!distance || *distance >= max_count) return std::nullopt;
  return OffsetRange{lowest, *distance + 1};
}

int64_t SmallestOf(const Positions& a, const Positions& b) {
  if (a.size() == 0) return b.min();
  if (b.size() == 0) return a.min();
  return std::min(a.min(), b.min());
}

}  // namespace locus
