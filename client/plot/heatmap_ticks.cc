#include "client/plot/heatmap_ticks.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"

namespace locus::client::plot {
namespace {

bool IsConsecutive(const std::vector<int64_t>& ids) {
  for (size_t i = 1; i < ids.size(); ++i) {
    if (ids[i] != ids[i - 1] + 1) return false;
  }
  return true;
}

}  // namespace

std::vector<IndexTick> IndexTicks(const std::vector<int64_t>& ids,
                                  Interval ends, int64_t count, int max_count) {
  std::vector<IndexTick> ticks;
  max_count = std::max(max_count, 1);
  const bool fits = count <= max_count;
  if (!ids.empty() && (fits || !IsConsecutive(ids))) {
    const auto step = static_cast<size_t>((count + max_count - 1) / max_count);
    for (size_t i = 0; i < ids.size(); i += step) {
      ticks.push_back({static_cast<double>(i), absl::StrCat(ids[i])});
    }
    return ticks;
  }
  if (!ids.empty()) {
    ends = {static_cast<double>(ids.front()), static_cast<double>(ids.back())};
  }
  if (count <= 1) ends.high = ends.low;
  for (const double tick : NiceTicks(ends, std::max(2, max_count))) {
    if (tick != std::round(tick)) continue;
    const double share =
        ends.high > ends.low ? (tick - ends.low) / (ends.high - ends.low) : 0;
    ticks.push_back({share * static_cast<double>(count - 1),
                     absl::StrCat(static_cast<int64_t>(tick))});
  }
  return ticks;
}

int64_t IdOf(const std::vector<int64_t>& ids, Interval ends, int64_t count,
             int64_t index) {
  if (!ids.empty()) return ids[index];
  const double share =
      count > 1 ? static_cast<double>(index) / static_cast<double>(count - 1)
                : 0;
  return std::llround(ends.low + share * (ends.high - ends.low));
}

}  // namespace locus::client::plot
