#include "client/load/slo.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace locus::client::load {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

Slo Parsed(const char* text) { return ParseSlo(text).value(); }

// Returns a run of 98 calls of 1 ms, one of 5 ms and one of 9 ms.
Result HundredCalls() {
  Result result;
  for (int i = 0; i < 100; ++i) {
    const int64_t millis = i < 98 ? 1 : i == 98 ? 5 : 9;
    result.statistics.Add({.ended = millis * 1000 * 1000});
  }
  return result;
}

TEST(SloTest, IsMetUpToItsBound) {
  const Result result = HundredCalls();
  EXPECT_THAT(Violations({Parsed("p99=5.01ms"), Parsed("p98=1.001ms"),
                          Parsed("mean=1.2ms"), Parsed("max=9ms")},
                         result),
              IsEmpty());
}

TEST(SloTest, ReportsMetricAndBoundOfViolations) {
  EXPECT_THAT(
      Violations({Parsed("p99=4ms"), Parsed("mean=1ms"), Parsed("max=8ms"),
                  Parsed("p50=2ms")},
                 HundredCalls()),
      ElementsAre("p99 is 5.00ms, above 4.00ms", "mean is 1.12ms, above 1.00ms",
                  "max is 9.00ms, above 8.00ms"));
}

TEST(SloTest, ErrorsIncludeFailedAndUnsentCalls) {
  Result result = HundredCalls();
  EXPECT_THAT(Violations({Parsed("errors=0")}, result), IsEmpty());
  result.statistics.Add({.code = absl::StatusCode::kUnavailable});
  result.unsent = 1;
  EXPECT_THAT(Violations({Parsed("errors=1%")}, result),
              ElementsAre("errors are 1.96%, above 1%"));
  EXPECT_THAT(Violations({Parsed("errors=2%")}, result), IsEmpty());
}

TEST(SloTest, LatencyIsUnknownWithoutSuccessfulCalls) {
  Result result;
  result.statistics.Add({.code = absl::StatusCode::kUnavailable});
  EXPECT_THAT(Violations({Parsed("p99=1h")}, result),
              ElementsAre("p99 is unknown, as no call succeeded, above 3600s"));
}

TEST(SloTest, RejectsInvalidSlos) {
  for (const char* text : {"", "p99", "p=5ms", "p0=5ms", "p101=5ms", "q99=5ms",
                           "p99=", "p99=fast", "errors=200%", "mean=-1s"}) {
    EXPECT_FALSE(ParseSlo(text).ok()) << text;
  }
}

TEST(SloTest, FindsErrorSlo) {
  EXPECT_FALSE(HasErrorSlo({Parsed("p99=5ms")}));
  EXPECT_TRUE(HasErrorSlo({Parsed("p99=5ms"), Parsed("errors=1%")}));
}

}  // namespace
}  // namespace locus::client::load
