#include "locus/client/retry.h"

#include "gtest/gtest.h"

namespace locus::client {
namespace {

constexpr RetryPolicy kPolicy{.max_attempts = 10,
                              .initial_backoff = absl::Milliseconds(100),
                              .max_backoff = absl::Seconds(1)};

TEST(RetryBackoffTest, DoublesWithEachAttempt) {
  EXPECT_EQ(RetryBackoff(kPolicy, 1, std::nullopt, 0), absl::Milliseconds(50));
  EXPECT_EQ(RetryBackoff(kPolicy, 2, std::nullopt, 0), absl::Milliseconds(100));
  EXPECT_EQ(RetryBackoff(kPolicy, 3, std::nullopt, 0), absl::Milliseconds(200));
}

TEST(RetryBackoffTest, IsLimitedByMaxBackoff) {
  EXPECT_EQ(RetryBackoff(kPolicy, 9, std::nullopt, 1), absl::Seconds(1));
  EXPECT_EQ(RetryBackoff(kPolicy, 2000, std::nullopt, 1), absl::Seconds(1));
}

TEST(RetryBackoffTest, JitterIsHalfOfBackoff) {
  EXPECT_EQ(RetryBackoff(kPolicy, 1, std::nullopt, 0.5),
            absl::Milliseconds(75));
  EXPECT_EQ(RetryBackoff(kPolicy, 1, std::nullopt, 1), absl::Milliseconds(100));
}

TEST(RetryBackoffTest, ServerDelayIsMinimum) {
  EXPECT_EQ(RetryBackoff(kPolicy, 1, absl::Seconds(3), 0), absl::Seconds(3));
  EXPECT_GE(RetryBackoff(kPolicy, 1, absl::Seconds(3), 0.9), absl::Seconds(3));
}

TEST(RetryBackoffTest, NegativeServerDelayIsZero) {
  EXPECT_EQ(RetryBackoff(kPolicy, 1, absl::Seconds(-5), 0),
            absl::ZeroDuration());
}

}  // namespace
}  // namespace locus::client
