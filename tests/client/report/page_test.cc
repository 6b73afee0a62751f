#include "client/report/page.h"

#include <cstring>
#include <string>

#include "client/report/page_script.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace locus::client {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(PageTest, ScriptHasAtMost15Kilobytes) {
  EXPECT_LE(std::strlen(kPageScript), 15000u);
}

TEST(PageTest, ScriptCannotEndItsElement) {
  EXPECT_THAT(std::string(kPageScript), Not(HasSubstr("</")));
}

TEST(PageTest, EscapesTitlesAndCells) {
  const std::string html = MakePage({.title = "<b>", .kicker = "a & b"});
  EXPECT_THAT(html, HasSubstr("<title>&lt;b&gt;</title>"));
  EXPECT_THAT(html, HasSubstr("a &amp; b"));
  EXPECT_EQ(RowHeading("<i>"), "<th scope=\"row\">&lt;i&gt;</th>");
  EXPECT_EQ(TextCell("<i>"), "<td>&lt;i&gt;</td>");
}

TEST(PageTest, AllowsOnlyItsOwnScript) {
  const std::string html = MakePage({});
  EXPECT_THAT(html, HasSubstr("default-src 'none'"));
  EXPECT_THAT(html, HasSubstr("script-src 'sha256-"));
  EXPECT_THAT(html, Not(HasSubstr("script-src 'unsafe-inline'")));
}

TEST(PageTest, LeavesOutEmptyFactsAndCommands) {
  EXPECT_EQ(CommandBox(""), "");
  EXPECT_EQ(FactsLine({"", ""}), "");
  EXPECT_EQ(FactsLine({"a", "", "b"}), "<p class=\"facts\">a \xc2\xb7 b</p>\n");
}

TEST(PageTest, FormattedNumbersKeepTheirValueForSorting) {
  EXPECT_EQ(FormattedCell(0.5, "1 of 2"),
            "<td class=\"n\" title=\"0.5\">1 of 2</td>");
  EXPECT_EQ(NumberCell(7), "<td class=\"n\">7</td>");
}

}  // namespace
}  // namespace locus::client
