#include "client/cli/render/progress.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace locus::client {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

v1::EvaluateExtrapolationResponse Progress(const std::string& scheme,
                                           int64_t step) {
  v1::EvaluateExtrapolationResponse event;
  v1::EvaluationProgress* progress = event.mutable_progress();
  progress->set_scheme_name(scheme);
  progress->set_step(step);
  progress->set_step_count(400);
  progress->set_loss(2.5);
  progress->set_remaining_seconds(90);
  return event;
}

TEST(EvaluationProgressLineTest, ShowsAllPartsIfTheyFit) {
  EXPECT_EQ(
      ProgressLine(Progress("rope", 120).progress(), absl::Seconds(30), 100),
      "rope  seed 0  [#####...............]  25%  step 120/400  loss "
      "2.500  1m30s left");
}

TEST(EvaluationProgressLineTest, LeavesOutPartsThatDoNotFit) {
  for (int width = 1; width < 90; ++width) {
    const std::string line = ProgressLine(Progress("rope", 120).progress(),
                                          absl::Seconds(30), width);
    EXPECT_LE(static_cast<int>(line.size()), width);
    EXPECT_EQ(line.substr(0, 4), std::string("rope").substr(0, width));
  }
  EXPECT_EQ(
      ProgressLine(Progress("rope", 120).progress(), absl::Seconds(30), 20),
      "rope  1m30s left");
}

TEST(EvaluationProgressLineTest, ReplacesControlCharactersInNames) {
  EXPECT_THAT(
      ProgressLine(Progress("\x1b[2Jx\n", 1).progress(), absl::Seconds(1), 80),
      Not(HasSubstr("\x1b")));
}

TEST(ShortDurationTest, HasAtMostTwoUnits) {
  EXPECT_EQ(ShortDuration(0), "0s");
  EXPECT_EQ(ShortDuration(44.2), "45s");
  EXPECT_EQ(ShortDuration(80), "1m20s");
  EXPECT_EQ(ShortDuration(7500), "2h05m");
  EXPECT_EQ(ShortDuration(-3), "0s");
}

class ReporterTest : public ::testing::Test {
 protected:
  ProgressReporter Make(int columns, bool quiet = false) {
    return ProgressReporter(
        {.columns = columns,
         .quiet = quiet,
         .write =
             [this](absl::string_view text) { written_.emplace_back(text); }},
        start_);
  }

  const absl::Time start_ = absl::FromUnixSeconds(1000);
  std::vector<std::string> written_;
};

TEST_F(ReporterTest, RedrawsATerminalAtMostTenTimesPerSecond) {
  ProgressReporter reporter = Make(80);
  for (int i = 0; i < 1000; ++i) {
    reporter.On(Progress("rope", i), start_ + i * absl::Milliseconds(1));
  }
  EXPECT_EQ(written_.size(), 10u);
  reporter.Finish();
  EXPECT_EQ(written_.back(), "\r\x1b[K");
}

TEST_F(ReporterTest, WritesOneLinePerRunAndCellWithoutATerminal) {
  ProgressReporter reporter = Make(0);
  for (int i = 0; i < 1000; ++i) reporter.On(Progress("rope", i), start_);
  v1::EvaluateExtrapolationResponse cell;
  cell.mutable_cell()->set_scheme_name("rope");
  cell.mutable_cell()->set_eval_length(128);
  (*cell.mutable_cell()->mutable_metrics())["nll"] = 1.5;
  (*cell.mutable_cell()->mutable_metrics())["bits_per_byte"] = 2.2;
  reporter.On(cell, start_);
  reporter.Finish();
  EXPECT_THAT(written_,
              ElementsAre("rope seed 0: training, 400 steps, about 1m30s left "
                          "in all\n",
                          "rope seed 0 length 128: nll 1.5\n"));
}

TEST_F(ReporterTest, WritesNothingIfQuiet) {
  ProgressReporter reporter = Make(80, /*quiet=*/true);
  reporter.On(Progress("rope", 1), start_);
  reporter.Finish();
  EXPECT_TRUE(written_.empty());
}

}  // namespace
}  // namespace locus::client
