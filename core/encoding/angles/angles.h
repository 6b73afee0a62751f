// Vectorised sines and cosines of position times frequency.
//
// The product of position and frequency is computed in double-double precision
// and in units of full rotations, so that range reduction is exact at any
// position. Sine and cosine are polynomials on a quarter rotation, evaluated
// for several frequencies at once; libm is not called. Results in double are
// within 4e-16 of the exact value at any position.
//
// Float tables of consecutive positions are computed faster, by a recurrence in
// double: each row follows from the two rows before it, and the recurrence
// restarts at positions that are multiples of kRestartInterval. The rounding
// error of the recurrence is at most 2e-14, far below the precision of float.
// Each row depends only on its position, not on where a run begins.
#pragma once

#include <cstdint>

#include "absl/types/span.h"
#include "core/base/positions.h"
#include "core/simd/streaming_stores.h"

namespace locus {

// A table to be filled, with one row per position. T is float or double.
template <typename T>
struct AngleTable {
  enum class Layout {
    kSeparate,     // sine k in sin[k], cosine k in cos[k]
    kInterleaved,  // sine k in sin[2k], cosine k in sin[2k + 1]; no `cos`
  };

  // Radians per position of each pair.
  absl::Span<const double> frequencies;
  // Factor of all sines and cosines.
  double factor = 1;
  // If not empty, sines and cosines of pair k are also multiplied by
  // e^(growth[k] (position - centre)).
  absl::Span<const double> growth = {};
  double centre = 0;
  Layout layout = Layout::kSeparate;
  T* sin = nullptr;
  T* cos = nullptr;  // null: cosines are not stored
  // Number of elements from one row to the next.
  int64_t stride = 0;
  StorePolicy store_policy = StorePolicy::kCached;
};

// Runs of consecutive positions restart their recurrence at multiples of this.
// Dividing a long run at such positions avoids extra work.
inline constexpr int64_t kRestartInterval = 64;

// Fills the rows of the `count` positions from positions[first] on. T is float
// or double.
template <typename T>
void FillAngles(const AngleTable<T>& table, const Positions& positions,
                int64_t first, int64_t count);

// Fills one row. The position may be negative.
template <typename T>
void FillAngles(const AngleTable<T>& table, int64_t position);

}  // namespace locus
