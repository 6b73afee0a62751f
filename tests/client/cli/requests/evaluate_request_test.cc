#include "client/cli/requests/evaluate_request.h"

#include <fstream>

#include "client/cli/support/cli_errors.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace locus::client {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

TEST(EvaluationRequestTest, DefaultsToTextWithoutExplicitSchemes) {
  const auto request = MakeEvaluationRequest({});
  ASSERT_TRUE(request.ok());
  EXPECT_TRUE(request->trained().has_text());
  EXPECT_EQ(request->schemes_size(), 0);
  EXPECT_FALSE(request->trained().model().has_causal());
}

TEST(EvaluationRequestTest, SupportsEveryTaskOfTheProto) {
  EXPECT_THAT(EvaluationTasks(), Contains("recall"));
  for (const std::string& task : EvaluationTasks()) {
    const auto request = MakeEvaluationRequest({.task = task});
    ASSERT_TRUE(request.ok()) << request.status();
    EXPECT_NE(request->trained().task_case(), v1::TrainedMode::TASK_NOT_SET);
  }
}

TEST(EvaluationRequestTest, RejectsUnknownTasks) {
  EXPECT_FALSE(MakeEvaluationRequest({.task = "model"}).ok());
  const auto request = MakeEvaluationRequest({.task = "cpoy"});
  EXPECT_THAT(std::string(request.status().message()),
              HasSubstr("did you mean copy"));
  EXPECT_EQ(ExitCode(request.status()), 2);
}

TEST(EvaluationRequestTest, PatternsRequestMapsAndRejectTrainingFlags) {
  const auto request = MakeEvaluationRequest({.pattern = true, .dim = 16});
  ASSERT_TRUE(request.ok());
  EXPECT_EQ(request->pattern().dim(), 16);
  EXPECT_GT(request->pattern().map_size(), 0);
  EXPECT_THAT(
      std::string(MakeEvaluationRequest({.pattern = true, .step_count = 3})
                      .status()
                      .message()),
      HasSubstr("--steps"));
}

TEST(EvaluationRequestTest, SetsTheDirectionOnlyIfGiven) {
  EXPECT_TRUE(
      MakeEvaluationRequest({.causal = true})->trained().model().causal());
  const auto both = MakeEvaluationRequest({.bidirectional = true});
  EXPECT_TRUE(both->trained().model().has_causal());
  EXPECT_FALSE(both->trained().model().causal());
}

TEST(EvaluationRequestTest, AcceptsACorpusForTextAndRetrofitOnly) {
  EXPECT_THAT(std::string(MakeEvaluationRequest(
                              {.task = "copy", .corpus = "/etc/hostname"})
                              .status()
                              .message()),
              HasSubstr("--task text"));
  EXPECT_FALSE(MakeEvaluationRequest({.corpus = "/nonexistent"}).ok());
  const std::string path = ::testing::TempDir() + "corpus.txt";
  std::ofstream(path) << "some text";
  const auto text = MakeEvaluationRequest({.corpus = path});
  EXPECT_EQ(text->trained().text().corpus(), "some text");
  const auto retrofit =
      MakeEvaluationRequest({.task = "retrofit", .corpus = path});
  EXPECT_EQ(retrofit->trained().retrofit().corpus(), "some text");
}

TEST(EvaluationRequestTest, ReadsQuestions) {
  const auto request = MakeEvaluationRequest(
      {.task = "ordering", .questions = {"3,1,4,2", "1,2"}});
  ASSERT_TRUE(request.ok()) << request.status();
  ASSERT_EQ(request->trained().ordering().ask_size(), 2);
  EXPECT_THAT(request->trained().ordering().ask(0).values(),
              ::testing::ElementsAre(3, 1, 4, 2));
}

TEST(EvaluationRequestTest, RejectsZeroInsteadOfUsingTheDefault) {
  const auto request = MakeEvaluationRequest({.step_count = 0});
  EXPECT_EQ(std::string(request.status().message()),
            "--steps: is 0; must be at least 1");
  EXPECT_EQ(ExitCode(request.status()), 2);
}

}  // namespace
}  // namespace locus::client
