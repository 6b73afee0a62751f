// Formatting of numbers and names in the text of a summary.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "core/evaluation/types/statistics.h"

namespace locus {

// Formats a number of seeds, such as "1 seed" or "3 seeds".
inline std::string FormatSeeds(int64_t count) {
  return absl::StrCat(count, count == 1 ? " seed" : " seeds");
}

// Formats a value with three significant digits.
inline std::string FormatValue(double value) {
  return absl::StrFormat("%.3g", value);
}

// Formats the bounds of an interval, such as "[0.1, 0.3]".
inline std::string FormatInterval(const MeanInterval& interval) {
  return absl::StrCat("[", FormatValue(interval.low), ", ",
                      FormatValue(interval.high), "]");
}

// The name of a metric in words, such as "balanced accuracy".
inline std::string FormatMetric(absl::string_view metric) {
  return absl::StrReplaceAll(metric, {{"_", " "}});
}

// Joins names. Long lists are cut, such as "a, b, c, d, e, f and 3 more".
inline std::string FormatNames(const std::vector<std::string>& names) {
  constexpr size_t kMaxNames = 6;
  const size_t shown = names.size() <= kMaxNames + 1 ? names.size() : kMaxNames;
  std::string text = absl::StrJoin(
      names.begin(), names.begin() + static_cast<int64_t>(shown), ", ");
  if (shown < names.size()) {
    absl::StrAppend(&text, " and ", names.size() - shown, " more");
  }
  return text;
}

}  // namespace locus
