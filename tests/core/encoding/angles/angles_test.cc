// Compares sines and cosines with those of libm in extended precision, on every
// instruction set of this machine.
#include "core/encoding/angles/angles.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "core/base/positions.h"
#include "tests/support/every_target.h"

namespace locus {
namespace {

using testing::ForEveryTarget;

std::vector<double> Frequencies(int64_t count, double base) {
  std::vector<double> frequencies(count);
  for (int64_t k = 0; k < count; ++k) {
    frequencies[k] =
        std::pow(base, -static_cast<double>(k) / static_cast<double>(count));
  }
  return frequencies;
}

template <typename T>
struct Rows {
  std::vector<T> sin;
  std::vector<T> cos;
};

template <typename T>
Rows<T> Fill(const std::vector<double>& frequencies, const Positions& positions,
             int64_t first, int64_t count) {
  const int64_t pairs = static_cast<int64_t>(frequencies.size());
  Rows<T> rows{std::vector<T>(count * pairs), std::vector<T>(count * pairs)};
  AngleTable<T> table;
  table.frequencies = frequencies;
  table.sin = rows.sin.data();
  table.cos = rows.cos.data();
  table.stride = pairs;
  FillAngles(table, positions, first, count);
  return rows;
}

// The max_error error of all rows, minus the error that the 64-bit rounding of
// the reference angle can cause.
template <typename T>
double MaxError(const std::vector<double>& frequencies,
                const Positions& positions) {
  const auto rows = Fill<T>(frequencies, positions, 0, positions.size());
  long double max_error = 0;
  for (int64_t i = 0; i < positions.size(); ++i) {
    for (size_t k = 0; k < frequencies.size(); ++k) {
      const long double angle =
          static_cast<long double>(positions[i]) * frequencies[k];
      const size_t n = i * frequencies.size() + k;
      const long double known = std::abs(angle) * 0x1p-64L;
      max_error =
          std::max({max_error, std::abs(rows.sin[n] - std::sin(angle)) - known,
                    std::abs(rows.cos[n] - std::cos(angle)) - known});
    }
  }
  return static_cast<double>(max_error);
}

TEST(AnglesTest, RangesAreAccurateAtAnyPosition) {
  ForEveryTarget([] {
    for (const int64_t start :
         {int64_t{0}, int64_t{37}, int64_t{1000000}, int64_t{2147483000}}) {
      const auto positions = *Positions::Range(start, 300);
      for (const int64_t pairs : {1, 3, 8, 33}) {
        const auto frequencies = Frequencies(pairs, 10000);
        SCOPED_TRACE(::testing::Message() << start << " " << pairs);
        // Half a unit in the last place below 1 is 2^-25 for float and 2^-54
        // for double.
        EXPECT_LE(MaxError<float>(frequencies, positions), 0x1.02p-25);
        EXPECT_LE(MaxError<double>(frequencies, positions), 5e-16);
      }
    }
  });
}

TEST(AnglesTest, IdsAreAccurateAtAnyPosition) {
  std::vector<int64_t> ids = {0, 5, 5, 4, 1 << 20, (int64_t{1} << 31) - 1, 3};
  const auto positions = *Positions::Ids(ids);
  ForEveryTarget([&] {
    const auto frequencies = Frequencies(20, 500000);
    EXPECT_LE(MaxError<float>(frequencies, positions), 0x1.02p-25);
    EXPECT_LE(MaxError<double>(frequencies, positions), 5e-16);
  });
}

TEST(AnglesTest, RowsDoNotDependOnTheDivisionOfARun) {
  const auto frequencies = Frequencies(19, 10000);
  const auto positions = *Positions::Range(1000, 400);
  const auto whole = Fill<float>(frequencies, positions, 0, 400);
  for (const int64_t piece : {1, 7, 64, 100}) {
    for (int64_t first = 0; first < 400; first += piece) {
      const int64_t count = std::min(piece, 400 - first);
      const auto part = Fill<float>(frequencies, positions, first, count);
      const auto at = whole.sin.begin() + first * 19;
      EXPECT_EQ(part.sin, std::vector<float>(at, at + count * 19)) << first;
    }
  }
}

}  // namespace
}  // namespace locus
