#include "client/cli/requests/positions.h"

#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "client/base/status_macros.h"
#include "locus/client/npy.h"
#include "locus/client/tensor.h"

namespace locus::client {
namespace {

absl::Status Malformed(const std::string& text) {
  return absl::InvalidArgumentError(
      absl::StrCat("\"", text,
                   "\" is not a list of positions; write 0:16, 0,5,9 or "
                   "@ids.npy"));
}

absl::StatusOr<v1::Positions> ParseRange(const std::string& text) {
  const std::vector<std::string> ends = absl::StrSplit(text, ':');
  int64_t start = 0;
  int64_t stop = 0;
  if (ends.size() != 2 || !absl::SimpleAtoi(ends[0], &start) ||
      !absl::SimpleAtoi(ends[1], &stop)) {
    return Malformed(text);
  }
  if (start < 0 || stop < start) {
    return absl::InvalidArgumentError(
        absl::StrCat("\"", text,
                     "\" is not a range; must be START:END with 0 <= START <= "
                     "END, where END is excluded"));
  }
  v1::Positions positions;
  positions.mutable_range()->set_start(start);
  positions.mutable_range()->set_count(stop - start);
  return positions;
}

absl::StatusOr<v1::Positions> ReadPositionFile(const std::string& path) {
  CLIENT_ASSIGN_OR_RETURN(const v1::Tensor tensor, ReadNpy(path));
  if (tensor.shape_size() != 1 || tensor.dtype() != v1::DATA_TYPE_INT64) {
    return absl::InvalidArgumentError(absl::StrCat(
        path, ": positions must be a one-dimensional array of integers, not ",
        ShapeName(tensor), " of ", DataTypeName(tensor.dtype())));
  }
  CLIENT_ASSIGN_OR_RETURN(const std::vector<int64_t> ids, ToIntegers(tensor));
  v1::Positions positions;
  positions.mutable_ids()->mutable_ids()->Add(ids.begin(), ids.end());
  return positions;
}

}  // namespace

absl::StatusOr<v1::Positions> ParsePositions(const std::string& text) {
  if (absl::StartsWith(text, "@")) return ReadPositionFile(text.substr(1));
  if (absl::StrContains(text, ':')) return ParseRange(text);
  v1::Positions positions;
  for (const absl::string_view part : absl::StrSplit(text, ',')) {
    int64_t id = 0;
    if (!absl::SimpleAtoi(part, &id)) return Malformed(text);
    positions.mutable_ids()->add_ids(id);
  }
  return positions;
}

int64_t PositionCount(const v1::Positions& positions) {
  return positions.has_range() ? positions.range().count()
                               : positions.ids().ids_size();
}

int64_t PositionAt(const v1::Positions& positions, int64_t index) {
  return positions.has_range() ? positions.range().start() + index
                               : positions.ids().ids(static_cast<int>(index));
}

}  // namespace locus::client
