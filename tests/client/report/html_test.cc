#include "client/report/html.h"

#include <string>
#include <vector>

#include "absl/strings/str_replace.h"
#include "client/report/manifest.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/client/report/manifest_text.h"

namespace locus::client {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(HtmlReportTest, DrawsUndrawableNumbersAsGaps) {
  const std::string html = MakeReport(*ParseManifest(absl::StrReplaceAll(
      ManifestText(), {{"\"mean\": 3.112", "\"mean\": 1e308"},
                       {"\"mean\": 1.78,", "\"mean\": -1e308,"}})));
  EXPECT_THAT(html, HasSubstr("<td class=\"n\">1e308</td>"));
  EXPECT_THAT(html, Not(HasSubstr("\"nan")));
}

TEST(HtmlReportTest, KeepsFullPrecisionOfRoundedNumbers) {
  const std::string html = MakeReport(*ParseManifest(absl::StrReplaceAll(
      ManifestText(), {{"\"mean\": 3.112", "\"mean\": 3.11234567"}})));
  EXPECT_THAT(html, HasSubstr("<td class=\"n\" title=\"3.11234567\">3.112<"));
  EXPECT_THAT(html, HasSubstr("<td class=\"n\">1.78</td>"));
}

TEST(HtmlReportTest, HasNoExternalResources) {
  const std::string html = MakeReport(*ParseManifest(ManifestText()));
  EXPECT_THAT(html, Not(HasSubstr("<link")));
  EXPECT_THAT(html, Not(HasSubstr(" src=")));
  EXPECT_THAT(absl::StrReplaceAll(html, {{"http://www.w3.org/2000/svg", ""}}),
              Not(HasSubstr("http:")));
  EXPECT_THAT(html, Not(HasSubstr("https:")));
}

TEST(HtmlReportTest, EscapesNames) {
  const std::string html = MakeReport(*ParseManifest(
      absl::StrReplaceAll(ManifestText(), {{"alibi", "<img/onerror=1>"}})));
  EXPECT_THAT(html, Not(HasSubstr("<img")));
}

TEST(HtmlReportTest, MarksPartialResults) {
  const auto manifest = ParseManifest(absl::StrReplaceAll(
      ManifestText(), {{"\"partial\": false", "\"partial\": true"}}));
  const std::string html = MakeReport(*manifest);
  EXPECT_THAT(html, HasSubstr("Partial."));
  EXPECT_THAT(html, HasSubstr("<p class=\"winner\">No winner</p>\n"
                              "<p id=\"reason\">No winner: the evaluation is "
                              "partial.</p>"));
}

TEST(HtmlReportTest, EscapesTheCommand) {
  const std::string html = MakeReport(*ParseManifest(ManifestText()),
                                      {.command = "locus '</code><b>'"});
  EXPECT_THAT(html, Not(HasSubstr("</code><b>")));
  EXPECT_THAT(html, HasSubstr("<code>locus &#39;&lt;/code&gt;"));
}

TEST(HtmlReportTest, HeadsTheCardWithTheWinner) {
  const std::string html = MakeReport(*ParseManifest(ManifestText()));
  EXPECT_THAT(html, HasSubstr("<p class=\"winner\">Winner: alibi</p>"));
  EXPECT_THAT(html, HasSubstr("What this means."));
  EXPECT_THAT(html, HasSubstr("What it does not mean."));
}

TEST(HtmlReportTest, PrefersTheVerdictToTheReason) {
  const auto manifest = ParseManifest(absl::StrReplaceAll(
      ManifestText(),
      {{"\"partial\": false",
        "\"partial\": false, \"verdict\": {\"winner\": \"\", \"kind\": "
        "\"at_chance\", \"text\": \"Nothing beats chance.\", \"next_step\": "
        "\"Try --steps 900.\"}"}}));
  const std::string html = MakeReport(*manifest);
  EXPECT_THAT(html, HasSubstr("<p class=\"winner\">No winner</p>\n"
                              "<p id=\"reason\">Nothing beats chance.</p>\n"
                              "<p class=\"next\"><strong>Next:</strong> Try "
                              "--steps 900.</p>"));
}

TEST(HtmlReportTest, ShowsLossesEffectiveLengthsSpreadsAndAnswers) {
  const auto manifest = ParseManifest(absl::StrReplaceAll(
      ManifestText(),
      {{"\"partial\": false",
        "\"partial\": false, \"training_curves\": [{\"scheme\": \"rope\", "
        "\"seed\": 2, \"steps\": [10, 20], \"losses\": [3.5, 2.5]}], "
        "\"effective_lengths\": [{\"scheme\": \"rope\", \"metric\": \"nll\", "
        "\"length\": 128, \"ci_low\": 64, \"ci_high\": 512, \"threshold\": "
        "0.1}], \"spreads\": [{\"scheme\": \"rope\", \"eval_length\": 64, "
        "\"metric\": \"nll\", \"min\": 1.25, \"q25\": 2, \"median\": 3, "
        "\"q75\": 4, \"max\": 5, \"share_above_95\": 0.6667}], "
        "\"ordering_answers\": [{\"scheme\": \"rope\", \"values\": [3, 1, 4], "
        "\"probability\": 0.25, \"ci_low\": 0.125, \"ci_high\": 0.5, "
        "\"count\": 3}]"}}));
  ASSERT_TRUE(manifest.ok()) << manifest.status();
  const std::string html = MakeReport(*manifest);
  EXPECT_THAT(html, HasSubstr("\"points\":[[10.0,3.5],[20.0,2.5]]"));
  EXPECT_THAT(html, HasSubstr(">512 or more</td>"));
  EXPECT_THAT(html, HasSubstr("stays within 10 % of its value at 64 tokens"));
  EXPECT_THAT(html, HasSubstr("<td class=\"n\">1.25</td>"));
  EXPECT_THAT(html, HasSubstr(">2 of 3</td>"));
  EXPECT_THAT(html, HasSubstr("<th scope=\"row\">3, 1, 4</th>"));
}

TEST(HtmlReportTest, OldManifestsHaveNoEmptySections) {
  const std::string html = MakeReport(*ParseManifest(ManifestText()));
  EXPECT_THAT(html, Not(HasSubstr("Training losses")));
  EXPECT_THAT(html, Not(HasSubstr("Effective length")));
  EXPECT_THAT(html, Not(HasSubstr("Spread of")));
  EXPECT_THAT(html, Not(HasSubstr("Questions to")));
}

TEST(HtmlReportTest, PatternModeHasNoWinner) {
  const auto manifest = ParseManifest(absl::StrReplaceAll(
      ManifestText(),
      {{"\"experiment\": \"text\"", "\"experiment\": \"pattern\""}}));
  const std::string html = MakeReport(*manifest);
  EXPECT_THAT(html, Not(HasSubstr("Winner:")));
  EXPECT_THAT(html, HasSubstr("No winner: nothing was trained"));
  EXPECT_THAT(html, HasSubstr("drift of the score profile"));
}

TEST(HtmlReportTest, ShowsTheValuesOfSeeds) {
  std::vector<v1::EvaluationCell> cells(1);
  cells[0].set_scheme_name("rope");
  cells[0].set_eval_length(64);
  (*cells[0].mutable_metrics())["nll"] = 1.23456;
  const std::string html =
      MakeReport(*ParseManifest(ManifestText()), {.cells = &cells});
  EXPECT_THAT(html, HasSubstr("\"dots\":[[64.0,1.23456]]"));
}

}  // namespace
}  // namespace locus::client
