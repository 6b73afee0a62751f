#include "client/cli/labs/lab_files.h"

#include <set>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace locus::client {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr Question kQuestions[] = {
    {{"Why?", "¿Por qué?"}, {"Because.", "Porque sí."}}};

Lab TestLab() {
  return {.name = "test",
          .title = {"a test", "una prueba"},
          .summary = {"Tests.", "Prueba."},
          .questions = kQuestions};
}

LabReport TestReport(Language language) {
  LabReport report(language);
  report.config()["T"] = 3;
  report.results()["max_diff"] = 0.5;
  report.Assert(false, {"claim", "afirmación"});
  report.Interpret({"It means this.", "Significa esto."});
  return report;
}

TEST(LabManifestTest, HasTheSchemaOfTheCourse) {
  const auto manifest = nlohmann::ordered_json::parse(
      LabManifest(TestLab(), {.seed = 7}, TestReport(Language::kEnglish),
                  absl::UnixEpoch()));
  std::vector<std::string> keys;
  for (const auto& [key, value] : manifest.items()) keys.push_back(key);
  EXPECT_THAT(keys,
              ::testing::ElementsAre("experiment", "date", "seed", "versions",
                                     "config", "results_summary"));
  EXPECT_EQ(manifest["date"], "1970-01-01");
  EXPECT_EQ(manifest["seed"], 7);
  EXPECT_EQ(manifest["config"]["T"], 3);
  EXPECT_EQ(manifest["results_summary"]["max_diff"], 0.5);
  EXPECT_EQ(manifest["results_summary"]["failed_assertions"], 1);
  for (const char* version : {"locus", "compiler", "instruction_set"}) {
    EXPECT_NE(manifest["versions"][version], "") << version;
  }
}

TEST(LabReadmeTest, QuestionsAreAnsweredOnlyOnRequest) {
  const LabReport report = TestReport(Language::kEnglish);
  const std::string open = LabReadme(TestLab(), {}, report);
  EXPECT_THAT(open, HasSubstr("## Open questions\n\n1. Why?"));
  EXPECT_THAT(open, Not(HasSubstr("Because.")));
  EXPECT_THAT(open, HasSubstr("- **FAIL**: claim"));
  EXPECT_THAT(open, HasSubstr("It means this."));
  EXPECT_THAT(LabReadme(TestLab(), {.answers = true}, report),
              HasSubstr("Because."));
}

TEST(LabReadmeTest, IsSpanishOnRequest) {
  const std::string text =
      LabReadme(TestLab(), {.language = Language::kSpanish, .answers = true},
                TestReport(Language::kSpanish));
  for (const char* part : {"# Laboratorio: una prueba", "## Interpretación",
                           "Porque sí.", "Significa esto.", "--lang es"}) {
    EXPECT_THAT(text, HasSubstr(part));
  }
}

TEST(LabCommandTest, RepeatsTheOptionsThatWereGiven) {
  EXPECT_EQ(LabCommand(TestLab(), {}), "locus lab test");
  EXPECT_EQ(LabCommand(TestLab(), {.language = Language::kSpanish,
                                   .seed = 3,
                                   .tokens = {"he", "works"},
                                   .dim = 16,
                                   .seed_count = 2}),
            "locus lab test --seed 3 --tokens \"he works\" --dim 16 --seeds 2 "
            "--lang es");
}

TEST(LabCommandTest, TokensAreQuotedForAShell) {
  EXPECT_EQ(LabCommand(TestLab(), {.tokens = {"$HOME", "a\"b", "`c`"}}),
            R"(locus lab test --tokens "\$HOME a\"b \`c\`")");
}

TEST(LabsTest, EveryTextExistsInBothLanguages) {
  std::set<std::string> names;
  for (const Lab& lab : Labs()) {
    SCOPED_TRACE(std::string(lab.name));
    EXPECT_TRUE(names.insert(std::string(lab.name)).second);
    EXPECT_GE(lab.questions.size(), 3u);
    for (const Question& question : lab.questions) {
      for (const Text& text : {question.question, question.answer}) {
        EXPECT_STRNE(text.english, "");
        EXPECT_STRNE(text.english, text.spanish);
      }
    }
    EXPECT_STRNE(lab.title.english, lab.title.spanish);
    EXPECT_STRNE(lab.summary.english, lab.summary.spanish);
  }
  EXPECT_EQ(names.size(), 7u);
}

}  // namespace
}  // namespace locus::client
