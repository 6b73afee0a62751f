#include "client/load/statistics.h"

#include "client/load/bottleneck.h"
#include "client/load/progress_line.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace locus::client::load {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(StatisticsTest, LatencyCountsFromTheIntendedStart) {
  Statistics statistics;
  statistics.Add({.intended = 100,
                  .started = 400,
                  .ended = 900,
                  .queue_nanos = 50,
                  .compute_nanos = 200});
  EXPECT_EQ(statistics.latency.max(), 800);
  EXPECT_EQ(statistics.service.max(), 500);
  EXPECT_EQ(statistics.delay.max(), 300);
  EXPECT_EQ(statistics.queue.max(), 50);
  EXPECT_EQ(statistics.compute.max(), 200);
  EXPECT_EQ(statistics.last_end, 900);
}

TEST(StatisticsTest, CountsFailuresByCodeSeparately) {
  Statistics statistics;
  statistics.Add({.ended = 10, .code = absl::StatusCode::kUnavailable});
  statistics.Add({.ended = 70});
  statistics.Add({.ended = 20, .code = static_cast<absl::StatusCode>(99)});
  EXPECT_EQ(statistics.latency.count(), 1);
  EXPECT_EQ(statistics.latency.min(), 70);
  EXPECT_EQ(statistics.failed.max(), 20);
  EXPECT_EQ(statistics.ok_count(), 1);
  EXPECT_EQ(statistics.failed_count(), 2);
  EXPECT_EQ(statistics.by_code[14], 1);
  EXPECT_EQ(statistics.by_code[2], 1);
}

TEST(StatisticsTest, ServerTimesAreOptional) {
  Statistics statistics;
  statistics.Add({.ended = 10});
  EXPECT_EQ(statistics.queue.count(), 0);
  EXPECT_EQ(statistics.compute.count(), 0);
}

TEST(StatisticsTest, MergeAddsStatistics) {
  Statistics a;
  Statistics b;
  a.Add({.ended = 10});
  b.Add({.ended = 30});
  b.Add({.ended = 20, .code = absl::StatusCode::kInternal});
  a.Merge(b);
  EXPECT_EQ(a.ok_count(), 2);
  EXPECT_EQ(a.failed_count(), 1);
  EXPECT_EQ(a.latency.max(), 30);
  EXPECT_EQ(a.last_end, 30);
  a.Clear();
  EXPECT_EQ(a.ok_count() + a.failed_count() + a.last_end, 0);
}

TEST(ResultTest, ThroughputCountsSuccessfulCalls) {
  Result result;
  EXPECT_EQ(result.Throughput(), 0);
  for (int i = 0; i < 10; ++i) result.statistics.Add({.ended = 1});
  result.statistics.Add({.code = absl::StatusCode::kInternal});
  result.measured_seconds = 2;
  EXPECT_EQ(result.Throughput(), 5);
}

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

TEST(MeasurementWarningsTest, AttributesHeldBackCallsToServer) {
  Result result = GoodRun();
  for (int i = 0; i < 20; ++i) {
    result.statistics.Add({.started = 5000000, .ended = 7000000});
  }
  result.held_back = 20;
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

constexpr Interval kInterval{.from_seconds = 2,
                             .to_seconds = 3,
                             .ok = 1000,
                             .failed = 2,
                             .in_flight = 4,
                             .p50 = 180000,
                             .p99 = 1210000,
                             .max = 2040000};

TEST(FormatProgressLineTest, ContainsRateFailuresAndPercentiles) {
  EXPECT_EQ(FormatProgressLine(kInterval, false),
            "3s  1000/s  2 failed  4 in flight  p50 180us  p99 1.21ms  "
            "max 2.04ms");
  EXPECT_THAT(FormatProgressLine(kInterval, true),
              HasSubstr("3s (warm-up)  1000/s"));
  EXPECT_EQ(FormatProgressLine({.to_seconds = 1, .failed = 3}, false),
            "1s  0/s  3 failed  0 in flight");
}

// Returns everything that a progress line writes for one interval.
std::string Written(ProgressLineOptions options) {
  std::string written;
  options.write = [&written](absl::string_view text) {
    written.append(text.data(), text.size());
  };
  ProgressLine line(options);
  line.Update(kInterval);
  line.Clear();
  return written;
}

TEST(ProgressLineTest, RedrawsAndErasesLineOnTerminal) {
  EXPECT_EQ(Written({.columns = 12}), "\r\x1b[K3s  1000/s \r\x1b[K");
}

TEST(ProgressLineTest, WritesPlainLinesWithoutTerminal) {
  EXPECT_EQ(Written({.prefix = "at 1000/s: "}),
            "at 1000/s: " + FormatProgressLine(kInterval, false) + "\n");
}

TEST(ProgressLineTest, MarksWarmUp) {
  EXPECT_THAT(Written({.warm_up_seconds = 3}), HasSubstr("warm-up"));
  EXPECT_THAT(Written({.warm_up_seconds = 2}),
              ::testing::Not(HasSubstr("warm-up")));
}

TEST(ProgressLineTest, WritesNothingIfQuiet) {
  EXPECT_EQ(Written({.quiet = true}), "");
}

}  // namespace
}  // namespace locus::client::load
