#include "client/load/statistics.h"

#include "gtest/gtest.h"

namespace locus::client::load {
namespace {

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

}  // namespace
}  // namespace locus::client::load
