// Sines and cosines of positions times frequencies.
//
// Angles are as exact as doubles can make them at any position: the product of
// position and frequency is taken in twice the precision of double, in turns,
// so that dropping the whole turns loses nothing. No libm is called; what
// follows is a polynomial on a quarter of a turn, many frequencies at once.
// Doubles are within 4e-16 of the exact value, at any position.
//
// A run of consecutive positions costs less still when floats are asked for: a
// row is the one before turned by the frequencies, in double, and computed
// afresh at positions that are multiples of 64. Rounding adds up to 2e-14 until
// then, far below what a float can show. What a row of a run is depends on its
// position alone, never on where the run was said to begin.
#pragma once

#include <cstdint>

#include "absl/types/span.h"
#include "core/base/positions.h"
#include "core/simd/streaming_stores.h"

namespace locus {

// A table to be filled, one row for each position.
template <typename T>
struct AngleTable {
  enum class Layout {
    kApart,        // sin[k] and cos[k]
    kAlternating,  // sin[2k] and sin[2k + 1]; `cos` is not used
  };

  // Radians from one position to the next.
  absl::Span<const double> frequencies;
  // Sines and cosines are multiplied by it.
  double factor = 1;
  // If not empty, those of pair k also by e^(growth[k] (position - centre)).
  absl::Span<const double> growth = {};
  double centre = 0;
  Layout layout = Layout::kApart;
  T* sin = nullptr;
  T* cos = nullptr;  // null: not wanted
  // From one row to the next.
  int64_t stride = 0;
  Writes writes = Writes::kThroughCache;
};

// The rows of a run at multiples of this are computed afresh; to divide a long
// run there saves work.
inline constexpr int64_t kFreshPositions = 64;

// Rows for positions[first] and the count - 1 after it. T is float or double.
template <typename T>
void FillAngles(const AngleTable<T>& table, const Positions& positions,
                int64_t first, int64_t count);

// One row, for any position, even a negative one.
template <typename T>
void FillAngles(const AngleTable<T>& table, int64_t position);

}  // namespace locus
