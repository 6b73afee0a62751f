// Formatting of numbers in the text of a summary.
#pragma once

#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "core/evaluation/types/statistics.h"

namespace locus {

// Formats a number of seeds, such as "1 seed" or "3 seeds".
inline std::string FormatSeeds(int64_t count) {
  return absl::StrCat(count, count == 1 ? " seed" : " seeds");
}

// Formats a value with four significant digits.
inline std::string FormatValue(double value) {
  return absl::StrFormat("%.4g", value);
}

// Formats the bounds of an interval, such as "[0.1, 0.3]".
inline std::string FormatInterval(const MeanInterval& interval) {
  return absl::StrCat("[", FormatValue(interval.low), ", ",
                      FormatValue(interval.high), "]");
}

}  // namespace locus
