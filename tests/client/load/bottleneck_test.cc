#include "client/load/bottleneck.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace locus::client::load {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Returns a run without any reason for a warning.
Result GoodRun() {
  Result result;
  for (int i = 0; i < 1000; ++i) {
    result.statistics.Add({.started = 50000, .ended = 2000000});
  }
  result.cost = {.wall_seconds = 10,
                 .calls = 1000,
                 .thread_cpu_seconds = 3,
                 .busiest_thread = 0.3,
                 .process_cpu_seconds = 4,
                 .machine_busy = 0.5};
  return result;
}

TEST(MeasurementWarningsTest, EmptyForGoodRun) {
  EXPECT_THAT(MeasurementWarnings(GoodRun()), IsEmpty());
}

TEST(MeasurementWarningsTest, ReportsBusyThread) {
  Result result = GoodRun();
  result.cost.busiest_thread = 0.97;
  EXPECT_THAT(MeasurementWarnings(result),
              ElementsAre(HasSubstr("client is the bottleneck: one of its "
                                    "threads was busy for 97% of the time")));
}

TEST(MeasurementWarningsTest, ReportsLateSends) {
  Result result = GoodRun();
  for (int i = 0; i < 20; ++i) {
    result.statistics.Add({.started = 5000000, .ended = 7000000});
  }
  EXPECT_THAT(MeasurementWarnings(result),
              ElementsAre(HasSubstr("at least 5.00ms late")));
}

TEST(MeasurementWarningsTest, AttributesCallsDelayedByMaxInFlightToServer) {
  Result result = GoodRun();
  for (int i = 0; i < 20; ++i) {
    result.statistics.Add({.started = 5000000, .ended = 7000000});
  }
  result.delayed = 20;
  EXPECT_THAT(MeasurementWarnings(result),
              ElementsAre(HasSubstr("the server does not keep up")));
}

TEST(MeasurementWarningsTest, IgnoresDelaysSmallerThanLatency) {
  Result result;
  for (int i = 0; i < 100; ++i) {
    result.statistics.Add({.started = 2000000, .ended = 500000000});
  }
  EXPECT_THAT(MeasurementWarnings(result), IsEmpty());
}

TEST(MeasurementWarningsTest, ReportsUnsentCallsUnlessInterrupted) {
  Result result = GoodRun();
  result.unsent = 7;
  EXPECT_THAT(MeasurementWarnings(result),
              ElementsAre(HasSubstr("7 scheduled calls were not sent")));
  result.interrupted = true;
  EXPECT_THAT(MeasurementWarnings(result), IsEmpty());
}

TEST(MeasurementWarningsTest, ReportsBusyMachine) {
  Result result = GoodRun();
  result.cost.machine_busy = 0.99;
  EXPECT_THAT(MeasurementWarnings(result),
              ElementsAre(HasSubstr("99% busy, 0.40 of them with this")));
}

}  // namespace
}  // namespace locus::client::load
