#include "client/cli/requests/load_plan.h"

#include "client/cli/support/cli_errors.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/temporary_folder.h"

namespace locus::client {
namespace {

using ::testing::HasSubstr;

constexpr int64_t kSecond = 1000 * 1000 * 1000;

LoadPlan Plan(const LoadPlanFlags& flags) {
  const auto plan = MakeLoadPlan(flags);
  EXPECT_TRUE(plan.ok()) << plan.status();
  return plan.value_or(LoadPlan());
}

// The number of calls in the schedule of a plan.
int64_t Calls(const LoadPlan& plan) {
  const auto schedule = plan.make_schedule();
  int64_t count = 0;
  while (schedule->Next().has_value()) ++count;
  return count;
}

TEST(LoadPlanTest, DefaultsTo1000PerSecondFor10Seconds) {
  const LoadPlan plan = Plan({});
  EXPECT_EQ(plan.text, "1000/s constant");
  EXPECT_EQ(plan.length_nanos, 11 * kSecond);
  EXPECT_EQ(plan.warm_up_nanos, kSecond);
  EXPECT_EQ(plan.offered_rate, 1000);
  EXPECT_EQ(Calls(plan), 11000);
}

TEST(LoadPlanTest, WarmsUpAtTheFirstRate) {
  const LoadPlan ramp = Plan({.ramp = "100:300", .duration = "2s"});
  EXPECT_EQ(ramp.text, "ramp from 100/s to 300/s");
  EXPECT_EQ(ramp.offered_rate, 200);
  EXPECT_EQ(Calls(ramp), 100 + 400);
  const LoadPlan steps =
      Plan({.steps = {50, 100}, .duration = "4s", .warm_up = "2s"});
  EXPECT_EQ(steps.text, "steps of 50, 100/s");
  EXPECT_EQ(Calls(steps), 100 + 100 + 200);
}

TEST(LoadPlanTest, PoissonArrivalsDependOnTheSeed) {
  const auto first = [](uint64_t seed) {
    return Plan({.rate = 10, .poisson = true, .seed = seed})
        .make_schedule()
        ->Next();
  };
  EXPECT_EQ(first(1), first(1));
  EXPECT_NE(first(1), first(2));
  EXPECT_EQ(Plan({.poisson = true}).text, "1000/s Poisson");
}

TEST(LoadPlanTest, ClosedLoopHasNoSchedule) {
  const LoadPlan plan = Plan({.concurrency = 8, .duration = "1s"});
  EXPECT_FALSE(plan.make_schedule);
  EXPECT_EQ(plan.concurrency, 8);
  EXPECT_EQ(plan.offered_rate, 0);
}

TEST(LoadPlanTest, ReplayLastsUntilItsLastStartTime) {
  const TemporaryFolder folder;
  const LoadPlan plan =
      Plan({.replay = folder.Write("starts", "0\n0.5\n1\n2\n")});
  EXPECT_EQ(plan.text, "replay of 4 calls");
  EXPECT_EQ(plan.length_nanos, 2 * kSecond + 1);
  EXPECT_EQ(plan.warm_up_nanos, 0);
  EXPECT_NEAR(plan.offered_rate, 2, 1e-6);
  EXPECT_EQ(Calls(plan), 4);
}

TEST(LoadPlanTest, SearchTrialsLastThreeSeconds) {
  EXPECT_EQ(Plan({.slo = {"p99=5ms"}}).length_nanos, 4 * kSecond);
}

TEST(LoadPlanTest, RejectsInvalidFlags) {
  const auto message = [](const LoadPlanFlags& flags) {
    const absl::Status status = MakeLoadPlan(flags).status();
    EXPECT_EQ(ExitCode(status), 2);
    return std::string(status.message());
  };
  EXPECT_THAT(message({.rate = 5, .ramp = "1:2"}), HasSubstr("give one of"));
  EXPECT_THAT(message({.rate = 0}), HasSubstr("--rate: is 0"));
  EXPECT_THAT(message({.rate = 2e6}), HasSubstr("at most 1000000"));
  EXPECT_THAT(message({.ramp = "fast"}), HasSubstr("FROM:TO"));
  EXPECT_THAT(message({.ramp = "0:0"}), HasSubstr("no calls"));
  EXPECT_THAT(message({.steps = {10, -1}}), HasSubstr("--steps"));
  EXPECT_THAT(message({.concurrency = 0}), HasSubstr("--concurrency"));
  EXPECT_THAT(message({.concurrency = 1, .poisson = true}),
              HasSubstr("--poisson"));
  EXPECT_THAT(message({.replay = "/nonexistent"}), HasSubstr("--replay"));
  EXPECT_THAT(message({.duration = "1ms"}), HasSubstr("--duration: is 1ms"));
  EXPECT_THAT(message({.duration = "long"}), HasSubstr("--duration"));
  EXPECT_THAT(message({.concurrency = 1, .slo = {"p99=1s"}}),
              HasSubstr("--slo"));
  EXPECT_THAT(message({.max_rate = 5}), HasSubstr("--max-rate"));
  EXPECT_THAT(message({.slo = {"p99=1s"}, .fail_above = {"p99=1s"}}),
              HasSubstr("give one"));
}

TEST(LoadPlanTest, SloErrorsNameTheirFlag) {
  EXPECT_THAT(std::string(ParseSlos("--slo", {"p99"}).status().message()),
              HasSubstr("--slo: \"p99\" is not a limit"));
  EXPECT_EQ(ParseSlos("--slo", {"p99=5ms", "errors=1%"}).value().size(), 2);
}

}  // namespace
}  // namespace locus::client
