#include "server/admission/ewma.h"

#include <gtest/gtest.h>

namespace locus::server {
namespace {

using std::chrono::milliseconds;

constexpr Clock::time_point kStart{std::chrono::hours(1)};

TEST(EwmaTest, StartsAtTheGuess) {
  Ewma ewma;
  ewma.Begin(0.5, kStart);
  EXPECT_EQ(ewma.seconds(), 0.5);
}

TEST(EwmaTest, ConvergesToTheInterval) {
  Ewma ewma;
  ewma.Begin(0.5, kStart);
  for (int i = 1; i <= 1600; ++i) ewma.Step(kStart + i * milliseconds(20));
  // The remaining weight of the guess: 0.48 (127/128)^1600 = 1.7e-6.
  EXPECT_NEAR(ewma.seconds(), 0.02, 1e-5);
}

TEST(EwmaTest, AveragesBursts) {
  Ewma ewma;
  ewma.Begin(0.02, kStart);
  for (int i = 0; i < 1600; ++i) {
    ewma.Step(kStart + (i / 4 + 1) * milliseconds(80));
  }
  // A step of 80 ms has a weight of 1/128, which is 0.6 ms.
  EXPECT_NEAR(ewma.seconds(), 0.02, 0.001);
}

TEST(EwmaTest, BeginRestartsTheEstimate) {
  Ewma ewma;
  ewma.Begin(0.5, kStart);
  ewma.Begin(0.25, kStart + std::chrono::hours(1));
  ewma.Step(kStart + std::chrono::hours(1) + milliseconds(250));
  EXPECT_EQ(ewma.seconds(), 0.25);
}

}  // namespace
}  // namespace locus::server
