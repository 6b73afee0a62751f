#include "server/observability/call_log_sampler.h"

#include <gtest/gtest.h>

#include <chrono>

namespace locus::server {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class CallLogSamplerTest : public testing::Test {
 protected:
  // Reports `count` calls at the same time, and returns how many are logged.
  int Log(int count, grpc::StatusCode code) {
    int logged = 0;
    for (int i = 0; i < count; ++i) {
      const auto decision = sampler_.Decide(code, now_);
      logged += decision.log;
      not_logged_ += decision.not_logged;
    }
    return logged;
  }

  CallLogSampler sampler_;
  Clock::time_point now_ = Clock::time_point() + seconds(100);
  int64_t not_logged_ = 0;  // reported so far
};

TEST_F(CallLogSamplerTest, LogsSomeFailedCallsOfEachSecond) {
  EXPECT_EQ(Log(1000, grpc::CANCELLED), 100);
  now_ += milliseconds(999);
  EXPECT_EQ(Log(1000, grpc::UNAVAILABLE), 0);
  now_ += milliseconds(1);
  EXPECT_EQ(Log(1000, grpc::INVALID_ARGUMENT), 100);
}

TEST_F(CallLogSamplerTest, LogsAllOtherCalls) {
  Log(1000, grpc::CANCELLED);
  for (const auto code :
       {grpc::OK, grpc::INTERNAL, grpc::UNKNOWN, grpc::DATA_LOSS}) {
    EXPECT_EQ(Log(1000, code), 1000) << code;
  }
}

TEST_F(CallLogSamplerTest, ReportsTheCallsNotLoggedAfterASecond) {
  Log(150, grpc::CANCELLED);
  now_ += milliseconds(999);
  Log(1, grpc::CANCELLED);
  EXPECT_EQ(not_logged_, 0);
  now_ += milliseconds(1);
  Log(1, grpc::OK);  // any call reports them
  EXPECT_EQ(not_logged_, 51);
  now_ += seconds(1);
  Log(1, grpc::CANCELLED);
  EXPECT_EQ(not_logged_, 51);
}

TEST_F(CallLogSamplerTest, ReportsTheRestAtTheEnd) {
  Log(110, grpc::CANCELLED);
  EXPECT_EQ(sampler_.TakeNotLogged(), 10);
  EXPECT_EQ(sampler_.TakeNotLogged(), 0);
}

}  // namespace
}  // namespace locus::server
