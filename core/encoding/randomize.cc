#include "core/encoding/randomize.h"

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/status.h"

namespace locus {
namespace {

absl::Status Replace(const std::vector<int64_t>& drawn, Positions* positions) {
  std::vector<int64_t> ids(positions->size());
  for (int64_t i = 0; i < positions->size(); ++i)
    ids[i] = drawn[(*positions)[i]];
  LOCUS_ASSIGN_OR_RETURN(*positions, Positions::Ids(std::move(ids)));
  return absl::OkStatus();
}

absl::Status TooSmall(int64_t maximum, int64_t last) {
  return InvalidField("maximum",
                      absl::StrCat("is ", maximum, "; must be more than ", last,
                                   ", the call's largest position"));
}

}  // namespace

absl::StatusOr<std::vector<int64_t>> DrawPositions(
    const Randomization& randomization, int64_t count) {
  const int64_t maximum = randomization.maximum;
  if (count > maximum) return TooSmall(maximum, count - 1);
  RandomStream stream(randomization.seed, "randomized.positions");
  return DrawPositions(stream, maximum, count);
}

std::vector<int64_t> DrawPositions(RandomStream& stream, int64_t maximum,
                                   int64_t count) {
  std::unordered_set<int64_t> taken;
  for (int64_t j = maximum - count; j < maximum; ++j) {
    const auto t =
        static_cast<int64_t>(stream.Uniform() * static_cast<double>(j + 1));
    if (!taken.insert(t).second) taken.insert(j);
  }
  std::vector<int64_t> drawn(taken.begin(), taken.end());
  std::sort(drawn.begin(), drawn.end());
  return drawn;
}

absl::Status Randomize(const Randomization& randomization,
                       absl::Span<Positions* const> sequences) {
  int64_t last = -1;
  for (const Positions* positions : sequences) {
    last = std::max(last, positions->max());
  }
  if (last >= kMaxRandomized && randomization.maximum > kMaxRandomized) {
    return LimitExceeded(
        "maximum", "max_randomized_positions",
        absl::StrCat("would draw for positions up to ", last, "; at most ",
                     kMaxRandomized, " are drawn"));
  }
  // Checked before DrawPositions() because last + 1 may overflow.
  if (last >= randomization.maximum) {
    return TooSmall(randomization.maximum, last);
  }
  LOCUS_ASSIGN_OR_RETURN(const std::vector<int64_t> drawn,
                         DrawPositions(randomization, last + 1));
  for (Positions* positions : sequences) {
    LOCUS_RETURN_IF_ERROR(Replace(drawn, positions));
  }
  return absl::OkStatus();
}

}  // namespace locus
