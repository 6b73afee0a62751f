// Numbers as a sentence bears them.
#pragma once

#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "core/evaluation/types/statistics.h"

namespace locus {

// "1 seed", "3 seeds".
inline std::string Seeds(int64_t count) {
  return absl::StrCat(count, count == 1 ? " seed" : " seeds");
}

inline std::string Short(double value) {
  return absl::StrFormat("%.4g", value);
}

// "[0.1, 0.3]".
inline std::string Interval(const MeanInterval& interval) {
  return absl::StrCat("[", Short(interval.low), ", ", Short(interval.high),
                      "]");
}

}  // namespace locus
