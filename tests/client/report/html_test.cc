#include "client/report/html.h"

#include <optional>
#include <string>

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
  const std::string html = MakeReport(
      *ParseManifest(absl::StrReplaceAll(
          ManifestText(), {{"\"mean\": 3.112", "\"mean\": 1e308"},
                           {"\"mean\": 1.78,", "\"mean\": -1e308,"}})),
      std::nullopt);
  EXPECT_THAT(html, HasSubstr("<td class=\"n\">1e308</td>"));
  EXPECT_THAT(html, Not(HasSubstr("\"nan")));
}

TEST(HtmlReportTest, KeepsFullPrecisionOfRoundedNumbers) {
  const std::string html = MakeReport(
      *ParseManifest(absl::StrReplaceAll(
          ManifestText(), {{"\"mean\": 3.112", "\"mean\": 3.11234567"}})),
      std::nullopt);
  EXPECT_THAT(html, HasSubstr("<td class=\"n\" title=\"3.11234567\">3.112<"));
  EXPECT_THAT(html, HasSubstr("<td class=\"n\">1.78</td>"));
}

TEST(HtmlReportTest, HasNoScriptsOrExternalResources) {
  const std::string html =
      MakeReport(*ParseManifest(ManifestText()), std::nullopt);
  EXPECT_THAT(html, Not(HasSubstr("<script")));
  EXPECT_THAT(html, Not(HasSubstr("<link")));
  EXPECT_THAT(html, Not(HasSubstr("src=")));
  EXPECT_THAT(absl::StrReplaceAll(html, {{"http://www.w3.org/2000/svg", ""}}),
              Not(HasSubstr("http")));
}

TEST(HtmlReportTest, EscapesNames) {
  const std::string html =
      MakeReport(*ParseManifest(absl::StrReplaceAll(
                     ManifestText(), {{"alibi", "<img/onerror=1>"}})),
                 std::nullopt);
  EXPECT_THAT(html, Not(HasSubstr("<img")));
}

TEST(HtmlReportTest, MarksPartialResults) {
  const auto manifest = ParseManifest(absl::StrReplaceAll(
      ManifestText(), {{"\"partial\": false", "\"partial\": true"}}));
  const std::string html = MakeReport(*manifest, std::nullopt);
  EXPECT_THAT(html, HasSubstr("Partial."));
  EXPECT_THAT(html, HasSubstr("<p class=\"winner\">No winner</p>\n"
                              "<p id=\"reason\">No winner: the evaluation is "
                              "partial.</p>"));
}

}  // namespace
}  // namespace locus::client
