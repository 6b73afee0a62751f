#include "server/net/connection_guard.h"

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "server/admission/memory_budget.h"
#include "server/admission/rejection.h"

namespace locus::server {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr int64_t kKiB = 1024;
constexpr int64_t kMiB = 1024 * kKiB;
constexpr int64_t kBudget = 1024 * kMiB;
constexpr ConnectionGuard::Limits kLimits{.max_streams = 100,
                                          .metadata_bytes = 20 * kKiB,
                                          .unread_bytes = 16 * kKiB,
                                          .message_bytes = 512 * kMiB};
// Max unexplained bytes of a connection while no message is read.
constexpr int64_t kIdleBytes = 100 * 16 * kKiB + ConnectionGuard::kFreeBytes;

// One connection of a guard, with its socket and a clock.
class TestConnection {
 public:
  TestConnection(ConnectionGuard* guard, const std::string& peer)
      : guard_(*guard), guarded(guard->Add(peer, now_)) {}

  void Receive(int64_t bytes) { bytes_.received += bytes; }
  void Send(int64_t bytes) { bytes_.sent += bytes; }
  // Checks the connection after 100 ms, or `time`.
  std::optional<CloseReason> Check(Clock::duration time = milliseconds(100)) {
    now_ += time;
    return guard_.Check(*guarded, guarded->TakeReports(), bytes_, now_);
  }
  Clock::time_point now() const { return now_; }

 private:
  ConnectionGuard& guard_;
  Clock::time_point now_{};
  ConnectionGuard::SocketBytes bytes_;

 public:
  const std::shared_ptr<GuardedConnection> guarded;
};

class ConnectionGuardTest : public testing::Test {
 protected:
  MemoryBudget budget_{kBudget};
  ConnectionGuard guard_{kLimits, &budget_};
  TestConnection a_{&guard_, "ipv4:127.0.0.1:1"};
};

void MakeCalls(GuardedConnection& connection, int count, CallEnd end,
               Clock::duration age) {
  for (int i = 0; i < count; ++i) {
    connection.OnCallArrived(20 * kKiB);
    connection.OnCallEnded(end, age);
  }
}

TEST_F(ConnectionGuardTest, ClosesAConnectionThatOpensAndResetsCalls) {
  MakeCalls(*a_.guarded, 4000, CallEnd::kCancelled, milliseconds(1));
  EXPECT_EQ(a_.Check(), std::nullopt);  // the burst
  MakeCalls(*a_.guarded, 201, CallEnd::kCancelled, milliseconds(49));
  EXPECT_EQ(a_.Check(), CloseReason::kResets);
  EXPECT_EQ(guard_.closed(CloseReason::kResets), 1);
}

TEST_F(ConnectionGuardTest, CallsToUnknownMethodsCountAsResets) {
  MakeCalls(*a_.guarded, 4001, CallEnd::kUnknownMethod, seconds(1));
  EXPECT_EQ(a_.Check(), CloseReason::kResets);
}

TEST_F(ConnectionGuardTest, AllowsOccasionalResets) {
  for (int i = 0; i < 600; ++i) {  // a minute at 2,000 per second
    MakeCalls(*a_.guarded, 200, CallEnd::kCancelled, milliseconds(1));
    ASSERT_EQ(a_.Check(), std::nullopt) << i;
  }
}

TEST_F(ConnectionGuardTest, AnsweredCallsAndLateCancellationsAreNoResets) {
  MakeCalls(*a_.guarded, 100'000, CallEnd::kAnswered, milliseconds(0));
  MakeCalls(*a_.guarded, 100'000, CallEnd::kCancelled, milliseconds(50));
  EXPECT_EQ(a_.Check(), std::nullopt);
}

TEST_F(ConnectionGuardTest, ClosesAConnectionWithTooManyConcurrentCalls) {
  for (int i = 0; i < 900; ++i) a_.guarded->OnCallArrived(20 * kKiB);
  EXPECT_EQ(a_.Check(), std::nullopt);
  a_.guarded->OnCallArrived(20 * kKiB);
  EXPECT_EQ(a_.Check(), CloseReason::kStreams);
}

TEST_F(ConnectionGuardTest, ClosesAConnectionWhoseBytesNoCallExplains) {
  a_.Receive(kIdleBytes);
  EXPECT_EQ(a_.Check(seconds(0)), std::nullopt);
  a_.Receive(1);
  EXPECT_EQ(a_.Check(seconds(0)), CloseReason::kBytes);
  EXPECT_EQ(guard_.closed(CloseReason::kBytes), 1);
}

TEST_F(ConnectionGuardTest, ReportsTheReasonOnce) {
  a_.Receive(kIdleBytes * 2);
  EXPECT_EQ(a_.Check(), CloseReason::kBytes);
  a_.Receive(kIdleBytes);
  EXPECT_EQ(a_.Check(), std::nullopt);
}

TEST_F(ConnectionGuardTest, AllowsPingsAndHealthChecksForEver) {
  for (int i = 0; i < 36'000; ++i) {  // an hour
    a_.Receive(16 * kKiB / 10);
    ASSERT_EQ(a_.Check(), std::nullopt) << i;
  }
}

TEST_F(ConnectionGuardTest, AllowanceIsRegainedSlowly) {
  a_.Receive(kIdleBytes);
  EXPECT_EQ(a_.Check(seconds(0)), std::nullopt);
  EXPECT_EQ(a_.Check(seconds(10)), std::nullopt);
  a_.Receive(160 * kKiB);
  EXPECT_EQ(a_.Check(seconds(0)), std::nullopt);
  a_.Receive(1);
  EXPECT_EQ(a_.Check(seconds(0)), CloseReason::kBytes);
}

TEST_F(ConnectionGuardTest, CallsExplainTheirMetadataAndUnreadBytes) {
  for (int i = 0; i < 100; ++i) {
    MakeCalls(*a_.guarded, 100, CallEnd::kAnswered, milliseconds(1));
    a_.Receive(100 * 37 * kKiB);
    ASSERT_EQ(a_.Check(), std::nullopt) << i;
  }
}

TEST_F(ConnectionGuardTest, ClosesAConnectionWithTooMuchMetadata) {
  a_.guarded->OnCallArrived(20 * kKiB);
  EXPECT_EQ(a_.Check(), std::nullopt);
  a_.guarded->OnCallArrived(20 * kKiB + 1);
  a_.guarded->OnCallArrived(1);
  EXPECT_EQ(a_.Check(), CloseReason::kMetadata);
  EXPECT_TRUE(guard_.MayConnect("ipv4:127.0.0.1:2", a_.now()));
}

TEST_F(ConnectionGuardTest, CallsDoNotSaveAllowanceForLater) {
  MakeCalls(*a_.guarded, 1000, CallEnd::kAnswered, milliseconds(1));
  EXPECT_EQ(a_.Check(), std::nullopt);
  a_.Receive(kIdleBytes + 1);
  EXPECT_EQ(a_.Check(seconds(0)), CloseReason::kBytes);
}

TEST_F(ConnectionGuardTest, AllowsAnUploadOfTheMaxSizeAgainAndAgain) {
  for (int i = 0; i < 10; ++i) {
    a_.guarded->OnCallArrived(20 * kKiB);
    a_.guarded->OnReadStarted();
    for (int part = 0; part < 32; ++part) {
      a_.Receive(16 * kMiB + 16 * kKiB);  // with frames around the message
      ASSERT_EQ(a_.Check(), std::nullopt) << i << " " << part;
    }
    a_.guarded->OnReadEnded(512 * kMiB);
    ASSERT_EQ(a_.Check(), std::nullopt) << i;
  }
  EXPECT_EQ(guard_.unaccounted_bytes(*a_.guarded), 0);
}

TEST_F(ConnectionGuardTest, AllowsAMessageThatArrivesBetweenTwoChecks) {
  a_.guarded->OnReadStarted();
  a_.Receive(512 * kMiB);
  a_.guarded->OnReadEnded(512 * kMiB);
  EXPECT_EQ(a_.Check(), std::nullopt);
}

TEST_F(ConnectionGuardTest, StopsAMessageBeyondTheMaxSize) {
  a_.guarded->OnCallArrived(20 * kKiB);
  a_.guarded->OnReadStarted();
  a_.Receive(544 * kMiB + kIdleBytes + 37 * kKiB);
  EXPECT_EQ(a_.Check(seconds(0)), std::nullopt);
  a_.Receive(1);
  EXPECT_EQ(a_.Check(seconds(0)), CloseReason::kBytes);
}

TEST_F(ConnectionGuardTest, ConcurrentUploadsMayTakeTheBudgetTogether) {
  for (int i = 0; i < 100; ++i) a_.guarded->OnReadStarted();
  a_.Receive(1088 * kMiB + kIdleBytes);
  EXPECT_EQ(a_.Check(seconds(0)), std::nullopt);
  a_.Receive(1);
  EXPECT_EQ(a_.Check(seconds(0)), CloseReason::kBytes);
}

TEST_F(ConnectionGuardTest, AllowsUploadsThatAreAbandoned) {
  for (int i = 0; i < 10; ++i) {
    a_.guarded->OnReadStarted();
    a_.Receive(400 * kMiB);
    ASSERT_EQ(a_.Check(), std::nullopt) << i;
    a_.Receive(100 * kMiB);
    a_.guarded->OnReadEnded(std::nullopt);
    ASSERT_EQ(a_.Check(), std::nullopt) << i;
    EXPECT_EQ(guard_.unaccounted_bytes(*a_.guarded), 0);
  }
}

TEST_F(ConnectionGuardTest, FramesAroundAMessageMayNotExceedTheOverhead) {
  a_.guarded->OnReadStarted();
  a_.Receive(100 * kMiB);
  EXPECT_EQ(a_.Check(), std::nullopt);
  a_.guarded->OnReadEnded(10 * kMiB);  // frames of one byte
  EXPECT_EQ(a_.Check(), std::nullopt);
  EXPECT_EQ(a_.Check(), CloseReason::kBytes);
}

TEST_F(ConnectionGuardTest, ResponsesExplainWindowUpdates) {
  for (int i = 0; i < 100; ++i) {
    a_.Send(100 * kMiB);
    a_.Receive(100 * kMiB / 64);
    ASSERT_EQ(a_.Check(seconds(0)), std::nullopt) << i;
  }
}

TEST_F(ConnectionGuardTest, ClosesTheLargestConnectionIfAllExceedTheBudget) {
  TestConnection b(&guard_, "ipv4:127.0.0.1:2");
  TestConnection c(&guard_, "ipv4:127.0.0.1:3");
  for (TestConnection* each : {&a_, &b, &c}) each->guarded->OnReadStarted();
  a_.Receive(300 * kMiB);
  b.Receive(400 * kMiB);
  c.Receive(380 * kMiB);
  for (TestConnection* each : {&a_, &b, &c}) {
    EXPECT_EQ(each->Check(), std::nullopt);
  }
  EXPECT_EQ(guard_.CheckMemory(0, a_.now()), nullptr);
  c.Receive(10 * kMiB);
  EXPECT_EQ(c.Check(), std::nullopt);
  EXPECT_EQ(guard_.CheckMemory(0, a_.now()), b.guarded);
  EXPECT_EQ(guard_.closed(CloseReason::kMemory), 1);
  // The next one has to wait until the memory of the first is freed.
  EXPECT_EQ(guard_.CheckMemory(0, a_.now() + milliseconds(499)), nullptr);
  EXPECT_EQ(guard_.CheckMemory(0, a_.now() + milliseconds(500)), c.guarded);
  guard_.Remove(*b.guarded);
  EXPECT_EQ(guard_.CheckMemory(0, a_.now() + seconds(1)), nullptr);
}

TEST_F(ConnectionGuardTest, ClosesTheMostSuspectConnectionIfMemoryIsShort) {
  TestConnection b(&guard_, "ipv4:127.0.0.1:2");
  b.Receive(2 * kMiB);
  EXPECT_EQ(b.Check(), std::nullopt);
  constexpr int64_t kMaxResident =
      kBudget + kBudget / 2 + ConnectionGuard::kResidentSlackBytes;
  EXPECT_EQ(guard_.CheckMemory(kMaxResident, b.now()), nullptr);
  EXPECT_EQ(guard_.CheckMemory(kMaxResident + 1, b.now()), b.guarded);
}

TEST_F(ConnectionGuardTest, MemoryDoesNotCloseConnectionsWithFewBytes) {
  a_.Receive(kMiB - 1);
  EXPECT_EQ(a_.Check(seconds(0)), std::nullopt);
  EXPECT_EQ(guard_.CheckMemory(10 * kBudget, a_.now()), nullptr);
  a_.Receive(1);
  EXPECT_EQ(a_.Check(seconds(0)), std::nullopt);
  EXPECT_EQ(guard_.CheckMemory(10 * kBudget, a_.now()), a_.guarded);
}

TEST_F(ConnectionGuardTest, AbandonedMessagesDoNotHideBytesFromMemoryChecks) {
  a_.guarded->OnReadStarted();
  a_.Receive(100 * kMiB);
  a_.guarded->OnReadEnded(std::nullopt);
  EXPECT_EQ(a_.Check(), std::nullopt);
  EXPECT_EQ(guard_.CheckMemory(10 * kBudget, a_.now()), a_.guarded);
}

TEST_F(ConnectionGuardTest, NewConnectionsOfAClosedAddressHaveToWait) {
  a_.Receive(kIdleBytes * 2);
  ASSERT_EQ(a_.Check(), CloseReason::kBytes);
  EXPECT_FALSE(guard_.MayConnect("ipv4:127.0.0.1:2", a_.now()));
  EXPECT_EQ(guard_.closed(CloseReason::kBackoff), 1);
  EXPECT_TRUE(guard_.MayConnect("ipv4:127.0.0.2:2", a_.now()));
  EXPECT_TRUE(guard_.MayConnect("ipv4:127.0.0.1:2", a_.now() + seconds(1)));
}

// An honest client of an overloaded server may cause them.
TEST_F(ConnectionGuardTest, ResetsDoNotMakeAnAddressWait) {
  MakeCalls(*a_.guarded, 4001, CallEnd::kCancelled, milliseconds(1));
  ASSERT_EQ(a_.Check(), CloseReason::kResets);
  EXPECT_TRUE(guard_.MayConnect("ipv4:127.0.0.1:2", a_.now()));
}

TEST_F(ConnectionGuardTest, LackOfMemoryDoesNotMakeAnAddressWait) {
  a_.Receive(kMiB + kMiB / 2);
  EXPECT_EQ(a_.Check(), std::nullopt);
  ASSERT_EQ(guard_.CheckMemory(10 * kBudget, a_.now()), a_.guarded);
  EXPECT_TRUE(guard_.MayConnect("ipv4:127.0.0.1:2", a_.now()));
}

TEST_F(ConnectionGuardTest, FindsConnectionsByTheirPeer) {
  EXPECT_EQ(guard_.Find("ipv4:127.0.0.1:1"), a_.guarded);
  // A port may be used again before the end of its old connection is noticed.
  TestConnection again(&guard_, "ipv4:127.0.0.1:1");
  guard_.Remove(*a_.guarded);
  EXPECT_EQ(guard_.Find("ipv4:127.0.0.1:1"), again.guarded);
  guard_.Remove(*again.guarded);
  EXPECT_EQ(guard_.Find("ipv4:127.0.0.1:1"), guard_.Find("unix:"));
}

TEST_F(ConnectionGuardTest, LimitsTheResponsesThatAConnectionLeavesUnread) {
  GuardedConnection& connection = *a_.guarded;
  connection.OnResponseQueued(kBudget / 4);
  EXPECT_TRUE(connection.CheckBacklog().ok());
  connection.OnResponseQueued(1);
  const absl::Status status = connection.CheckBacklog();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(status.message(),
            "this connection has 268435457 bytes of responses unread; at most "
            "268435456 are kept for it");
  ASSERT_NE(RejectReasonOf(status), nullptr);
  EXPECT_EQ(*RejectReasonOf(status), RejectReason::kMemory);
  connection.OnResponseSent(1);
  EXPECT_TRUE(connection.CheckBacklog().ok());
}

TEST_F(ConnectionGuardTest, UnixSocketsHaveNoLimitPerConnection) {
  const auto connection = guard_.Find("unix:");
  connection->OnResponseQueued(kBudget);
  EXPECT_TRUE(connection->CheckBacklog().ok());
}

TEST_F(ConnectionGuardTest, TrimsFreedMemoryFarAboveTheReservedMemory) {
  MemoryBudget::Reservation reservation(&budget_);
  ASSERT_TRUE(reservation.Grow(100 * kMiB).ok());
  const auto now = Clock::time_point() + seconds(10);
  constexpr int64_t kExcess = ConnectionGuard::kTrimExcessBytes;
  EXPECT_FALSE(guard_.ShouldTrim(100 * kMiB + kExcess, now));
  EXPECT_TRUE(guard_.ShouldTrim(100 * kMiB + kExcess + 1, now + seconds(2)));
  EXPECT_FALSE(guard_.ShouldTrim(kBudget, now + seconds(4) - milliseconds(1)));
  EXPECT_TRUE(guard_.ShouldTrim(kBudget, now + seconds(4)));
}

TEST_F(ConnectionGuardTest, ExpectsFreedMemoryAfterAConnectionWasClosed) {
  EXPECT_FALSE(guard_.expects_freed_memory());
  a_.Receive(kIdleBytes * 2);
  ASSERT_EQ(a_.Check(), CloseReason::kBytes);
  Clock::time_point now = a_.now();
  for (int i = 0; i < ConnectionGuard::kTrimsAfterClose; ++i) {
    EXPECT_TRUE(guard_.expects_freed_memory());
    now += ConnectionGuard::kTrimInterval;
    EXPECT_TRUE(guard_.ShouldTrim(kBudget, now));
  }
  EXPECT_FALSE(guard_.expects_freed_memory());
}

}  // namespace
}  // namespace locus::server
