#include "core/base/random.h"

#include <cmath>
#include <cstdint>

#include <gtest/gtest.h>

namespace locus {
namespace {

TEST(RandomTest, StreamsAreIndependentAndRepeatable) {
  RandomStream a(1, "a"), again(1, "a"), b(1, "b"), other_seed(2, "a");
  const uint64_t first = a.Next();
  EXPECT_EQ(first, again.Next());
  EXPECT_NE(first, b.Next());
  EXPECT_NE(first, other_seed.Next());
}

TEST(RandomTest, NormalNumbersHaveTheExpectedMoments) {
  constexpr int kCount = 200000;
  RandomStream stream(3, "moments");
  double sum = 0, squares = 0, fourth = 0;
  for (int i = 0; i < kCount; ++i) {
    const double x = stream.Normal();
    sum += x;
    squares += x * x;
    fourth += x * x * x * x;
  }
  // The tolerance is five standard errors of each mean.
  EXPECT_NEAR(sum / kCount, 0, 5 / std::sqrt(kCount));
  EXPECT_NEAR(squares / kCount, 1, 5 * std::sqrt(2.0 / kCount));
  EXPECT_NEAR(fourth / kCount, 3, 5 * std::sqrt(96.0 / kCount));
}

}  // namespace
}  // namespace locus
