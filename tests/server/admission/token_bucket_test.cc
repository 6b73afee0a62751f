#include "server/admission/token_bucket.h"

#include <gtest/gtest.h>

namespace locus::server {
namespace {

using std::chrono::milliseconds;

constexpr Clock::time_point kStart{std::chrono::hours(1)};

int Taken(TokenBucket& bucket, Clock::time_point now) {
  int count = 0;
  while (count < 1000 && bucket.Take(now)) ++count;
  return count;
}

TEST(TokenBucketTest, PermitsABurstAndThenTheRate) {
  TokenBucket bucket(50, 300, kStart);
  EXPECT_EQ(Taken(bucket, kStart), 300);
  EXPECT_EQ(Taken(bucket, kStart + milliseconds(10)), 0);
  EXPECT_EQ(Taken(bucket, kStart + milliseconds(20)), 1);
  EXPECT_EQ(Taken(bucket, kStart + milliseconds(1020)), 50);
}

TEST(TokenBucketTest, SavesNoMoreThanItsCapacity) {
  TokenBucket bucket(50, 300, kStart);
  EXPECT_EQ(Taken(bucket, kStart + std::chrono::hours(24)), 300);
}

}  // namespace
}  // namespace locus::server
