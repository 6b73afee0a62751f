#include "server/admission/ewma.h"

#include <gtest/gtest.h>

namespace locus::server {
namespace {

using std::chrono::milliseconds;

constexpr PaceClock::time_point kStart{std::chrono::hours(1)};

TEST(PaceTest, IsAGuessAtFirst) {
  Pace pace;
  pace.Begin(0.5, kStart);
  EXPECT_EQ(pace.seconds(), 0.5);
}

TEST(PaceTest, ComesToWhatStepsTake) {
  Pace pace;
  pace.Begin(0.5, kStart);
  for (int i = 1; i <= 1600; ++i) pace.Step(kStart + i * milliseconds(20));
  // What is left of the guess: 0.48 (127/128)^1600 = 1.7e-6.
  EXPECT_NEAR(pace.seconds(), 0.02, 1e-5);
}

TEST(PaceTest, TakesBunchesForWhatTheyAreOnAverage) {
  Pace pace;
  pace.Begin(0.02, kStart);
  for (int i = 0; i < 1600; ++i) {
    pace.Step(kStart + (i / 4 + 1) * milliseconds(80));
  }
  // A step of 80 ms counts for a 128th: 0.6 ms.
  EXPECT_NEAR(pace.seconds(), 0.02, 0.001);
}

TEST(PaceTest, BeginsAnew) {
  Pace pace;
  pace.Begin(0.5, kStart);
  pace.Begin(0.25, kStart + std::chrono::hours(1));
  pace.Step(kStart + std::chrono::hours(1) + milliseconds(250));
  EXPECT_EQ(pace.seconds(), 0.25);
}

int Taken(Allowance& allowance, PaceClock::time_point now) {
  int count = 0;
  while (count < 1000 && allowance.Take(now)) ++count;
  return count;
}

TEST(AllowanceTest, AllowsSoManyAtOnceAndThenSoOften) {
  Allowance allowance(50, 300, kStart);
  EXPECT_EQ(Taken(allowance, kStart), 300);
  EXPECT_EQ(Taken(allowance, kStart + milliseconds(10)), 0);
  EXPECT_EQ(Taken(allowance, kStart + milliseconds(20)), 1);
  EXPECT_EQ(Taken(allowance, kStart + milliseconds(1020)), 50);
}

TEST(AllowanceTest, SavesNoMoreThanThat) {
  Allowance allowance(50, 300, kStart);
  EXPECT_EQ(Taken(allowance, kStart + std::chrono::hours(24)), 300);
}

}  // namespace
}  // namespace locus::server
