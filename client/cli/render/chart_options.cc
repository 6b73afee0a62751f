#include "client/cli/render/chart_options.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/base/status_macros.h"
#include "client/cli/requests/positions.h"
#include "client/cli/support/cli_errors.h"

namespace locus::client {
namespace {

// Maximum number of rows and of columns of a heatmap. Larger charts are neither
// readable nor small.
constexpr int64_t kMaxSide = 2048;
// Maximum number of positions that are all ticks.
constexpr int64_t kMaxIdTicks = 16;

// The charts that the scheme of `response` has, for an error message.
std::string ApplicableCharts(const v1::EncodeResponse& response) {
  switch (response.encoding_case()) {
    case v1::EncodeResponse::kAdditive:
      return "heatmap, similarity, waveforms or attention";
    case v1::EncodeResponse::kRotation:
      return "similarity, waveforms or attention";
    case v1::EncodeResponse::kBias:
      return "bias or attention";
    case v1::EncodeResponse::ENCODING_NOT_SET:
      break;
  }
  return "attention";
}

// "positions 0 to 127", or up to a few ids.
std::string PositionText(const v1::Positions& positions) {
  constexpr int64_t kMaxListed = 8;
  const int64_t count = PositionCount(positions);
  if (count == 0) return "";
  if (positions.has_range()) {
    return count == 1 ? absl::StrCat("position ", PositionAt(positions, 0))
                      : absl::StrCat("positions ", PositionAt(positions, 0),
                                     " to ", PositionAt(positions, count - 1));
  }
  if (count > kMaxListed) return absl::StrCat(count, " positions");
  return absl::StrCat("positions ", absl::StrJoin(IdsOf(positions), ", "));
}

}  // namespace

const std::string& TitleOfScheme(const ChartOptions& options) {
  return options.scheme_title.empty() ? options.scheme_name
                                      : options.scheme_title;
}

std::string TitleOr(const ChartOptions& options, absl::string_view title) {
  return options.title.empty() ? std::string(title) : options.title;
}

std::string NoteWith(const ChartOptions& options,
                     absl::string_view explanation) {
  std::string note = options.details;
  const std::string positions = PositionText(options.positions);
  if (!positions.empty()) {
    absl::StrAppend(&note, note.empty() ? "" : " \u00b7 ", positions);
  }
  if (!explanation.empty()) {
    absl::StrAppend(&note, note.empty() ? "" : "\n", explanation);
  }
  return note;
}

std::vector<int64_t> IdsOf(const v1::Positions& positions) {
  std::vector<int64_t> ids;
  const int64_t count = PositionCount(positions);
  for (int64_t i = 0; i < count; ++i) ids.push_back(PositionAt(positions, i));
  return ids;
}

std::vector<double> IdTicks(const v1::Positions& positions) {
  if (PositionCount(positions) > kMaxIdTicks) return {};
  std::vector<double> ticks;
  for (const int64_t id : IdsOf(positions)) {
    ticks.push_back(static_cast<double>(id));
  }
  std::sort(ticks.begin(), ticks.end());
  ticks.erase(std::unique(ticks.begin(), ticks.end()), ticks.end());
  return ticks;
}

absl::Status CheckSide(int64_t count) {
  if (count <= kMaxSide) return absl::OkStatus();
  return UsageError(
      absl::StrCat("--positions: ", count,
                   " are too many for this chart; the maximum is ", kMaxSide));
}

absl::StatusOr<plot::Heatmap> SelectedPart(const ChartOptions& options,
                                           const plot::Heatmap& heatmap) {
  const auto check = [](const plot::IndexRange& range, int64_t count,
                        absl::string_view flag) -> absl::Status {
    if (range.high <= count && range.low < range.high) return absl::OkStatus();
    return UsageError(absl::StrCat(flag, ": ", range.low, ":", range.high,
                                   " is not within 0:", count));
  };
  const plot::IndexRange rows =
      options.rows.value_or(plot::IndexRange{0, heatmap.rows});
  const plot::IndexRange columns =
      options.columns.value_or(plot::IndexRange{0, heatmap.columns});
  CLIENT_RETURN_IF_ERROR(check(rows, heatmap.rows, "--rows"));
  CLIENT_RETURN_IF_ERROR(check(columns, heatmap.columns, "--columns"));
  return plot::Cropped(heatmap, rows, columns);
}

absl::Status NotApplicable(const ChartOptions& options,
                           const v1::EncodeResponse& response,
                           absl::string_view missing) {
  return UsageError(absl::StrCat(options.scheme_name, " has no ", missing,
                                 "; try ", ApplicableCharts(response)));
}

}  // namespace locus::client
