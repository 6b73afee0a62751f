#include "client/report/manifest.h"

#include <cmath>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/client/report/manifest_text.h"

namespace locus::client {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(ManifestTest, ReadsManifest) {
  const auto manifest = ParseManifest(ManifestText());
  ASSERT_TRUE(manifest.ok()) << manifest.status();
  EXPECT_EQ(manifest->train_length, 64);
  EXPECT_EQ(manifest->summary.winner(), "alibi");
  EXPECT_THAT(LengthsOf(*manifest), ElementsAre(64, 128, 256, 512));
  EXPECT_EQ(SchemesOf(*manifest).front(), "none");
  EXPECT_EQ(MetricsOf(*manifest).front(), "nll");
  EXPECT_EQ(FindRow(*manifest, "rope", 512, "nll")->mean(), 3.112);
  EXPECT_FALSE(FindGate(*manifest, "none")->passed());
  EXPECT_EQ(FindRow(*manifest, "rope", 7, "nll"), nullptr);
}

TEST(ManifestTest, ReadsNonFiniteNumbersFromStrings) {
  const auto manifest = ParseManifest(absl::StrReplaceAll(
      ManifestText(), {{"\"mean\": 3.112", "\"mean\": \"Infinity\""}}));
  ASSERT_TRUE(manifest.ok());
  EXPECT_TRUE(std::isinf(FindRow(*manifest, "rope", 512, "nll")->mean()));
}

TEST(ManifestTest, RejectsLengthsBelowOne) {
  for (const char* name : {"train_length", "eval_length"}) {
    for (const char* value : {"0", "-64"}) {
      const auto manifest = ParseManifest(absl::StrReplaceAll(
          ManifestText(), {{absl::StrCat("\"", name, "\": 64"),
                            absl::StrCat("\"", name, "\": ", value)}}));
      EXPECT_THAT(std::string(manifest.status().message()),
                  HasSubstr(absl::StrCat(name, ": is ", value,
                                         "; must be at least 1")));
    }
  }
}

// The text with additional members of the document.
std::string WithMembers(const std::string& members) {
  std::string text = ManifestText();
  return text.replace(text.find('{'), 1, absl::StrCat("{", members, ","));
}

TEST(ManifestTest, ReadsVerdictLengthsSpreadsCurvesAndAnswers) {
  const auto manifest = ParseManifest(WithMembers(R"(
      "verdict": {"winner": "", "kind": "at_chance", "text": "No winner.",
                  "next_step": "Wait."},
      "effective_lengths": [{"scheme": "rope", "metric": "nll", "length": 128,
                             "ci_low": 64, "ci_high": 256, "threshold": 0.1}],
      "spreads": [{"scheme": "rope", "eval_length": 64, "metric": "nll",
                   "min": 1, "q25": 2, "median": 3, "q75": 4, "max": 5,
                   "share_above_95": null, "worst_seed": 7}],
      "training_curves": [{"scheme": "rope", "seed": 7, "steps": [10, 20],
                           "losses": [3.5, "Infinity"]}],
      "ordering_answers": [{"scheme": "rope", "values": [3, 1],
                            "probability": 0.25, "ci_low": 0.2,
                            "ci_high": 0.3, "count": 3}])"));
  ASSERT_TRUE(manifest.ok()) << manifest.status();
  const v1::EvaluationSummary& summary = manifest->summary;
  EXPECT_EQ(summary.verdict().kind(), v1::VERDICT_KIND_AT_CHANCE);
  EXPECT_EQ(summary.verdict().next_step(), "Wait.");
  EXPECT_EQ(summary.winner(), "");
  EXPECT_EQ(summary.effective_lengths(0).ci_high(), 256);
  EXPECT_EQ(summary.spreads(0).q75(), 4);
  EXPECT_FALSE(summary.spreads(0).has_share_above_95());
  EXPECT_EQ(summary.spreads(0).worst_seed(), 7u);
  EXPECT_THAT(summary.training_curves(0).steps(), ElementsAre(10, 20));
  EXPECT_TRUE(std::isinf(summary.training_curves(0).losses(1)));
  EXPECT_THAT(summary.ordering_answers(0).values(), ElementsAre(3, 1));
}

TEST(ManifestTest, NamesInvalidFieldsOfAdditions) {
  EXPECT_THAT(ParseManifest(WithMembers(R"("spreads": 3)")).status().message(),
              HasSubstr("spreads should be a list"));
  EXPECT_THAT(
      ParseManifest(WithMembers(R"("effective_lengths": [{"scheme": 1}])"))
          .status()
          .message(),
      HasSubstr("effective_lengths[0].scheme should be a string"));
  EXPECT_THAT(ParseManifest(WithMembers(R"("training_curves": [{"scheme": "a",
                                    "seed": 1, "steps": [1], "losses": []}])"))
                  .status()
                  .message(),
              HasSubstr("1 steps and 0 losses"));
}

TEST(ManifestTest, PatternsHaveNoWinner) {
  const auto manifest = ParseManifest(absl::StrReplaceAll(
      ManifestText(),
      {{"\"experiment\": \"text\"", "\"experiment\": \"pattern\""}}));
  ASSERT_TRUE(manifest.ok()) << manifest.status();
  ASSERT_TRUE(manifest->is_pattern());
  EXPECT_EQ(manifest->summary.winner(), "");
}

TEST(ManifestTest, OldManifestsTakeTheChanceLevelFromTheMetric) {
  // The chance level of a loss is unknown; the threshold is stricter.
  EXPECT_EQ(ParseManifest(ManifestText())->summary.gates(0).chance(), 2.4);
}

TEST(ManifestTest, NamesMissingFields) {
  EXPECT_THAT(ParseManifest("[]").status().message(),
              HasSubstr("not a JSON object"));
  EXPECT_THAT(ParseManifest("{\"experiment\": 3}").status().message(),
              HasSubstr("experiment should be a string"));
  EXPECT_THAT(
      ParseManifest(absl::StrReplaceAll(ManifestText(),
                                        {{"\"mean\": 3.112", "\"mean\": []"}}))
          .status()
          .message(),
      HasSubstr("].mean should be a number"));
}

}  // namespace
}  // namespace locus::client
