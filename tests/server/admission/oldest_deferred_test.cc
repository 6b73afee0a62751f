#include "server/admission/oldest_deferred.h"

#include <gtest/gtest.h>

namespace locus::server {
namespace {

using std::chrono::milliseconds;

constexpr Clock::time_point kStart{std::chrono::hours(1)};

TEST(OldestDeferredTest, NothingIsOlderAtFirst) {
  const OldestDeferred oldest(2, 1);
  EXPECT_FALSE(oldest.IsOlderElsewhere(0, 0, kStart));
}

TEST(OldestDeferredTest, FindsANotablyOlderCallOfAnotherPoller) {
  OldestDeferred oldest(2, 1);
  oldest.Publish(1, 0, kStart);
  EXPECT_FALSE(oldest.IsOlderElsewhere(0, 0, kStart + milliseconds(40)));
  EXPECT_TRUE(oldest.IsOlderElsewhere(0, 0, kStart + milliseconds(41)));
}

TEST(OldestDeferredTest, IgnoresItsOwnCallsAndOtherMethods) {
  OldestDeferred oldest(2, 2);
  oldest.Publish(0, 0, kStart);
  oldest.Publish(1, 1, kStart);
  EXPECT_FALSE(oldest.IsOlderElsewhere(0, 0, kStart + std::chrono::hours(1)));
}

TEST(OldestDeferredTest, PublishingReplacesTheArrival) {
  OldestDeferred oldest(2, 1);
  oldest.Publish(1, 0, kStart);
  oldest.Publish(1, 0, Clock::time_point::max());
  EXPECT_FALSE(oldest.IsOlderElsewhere(0, 0, kStart + std::chrono::hours(1)));
}

}  // namespace
}  // namespace locus::server
