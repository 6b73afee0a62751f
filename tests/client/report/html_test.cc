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
