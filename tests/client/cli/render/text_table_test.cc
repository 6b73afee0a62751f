#include "client/cli/render/text_table.h"

#include "absl/strings/str_split.h"
#include "client/cli/support/color.h"
#include "client/cli/support/text_layout.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace locus::client {
namespace {

using ::testing::HasSubstr;

TEST(TextTableTest, AlignsColumns) {
  EXPECT_EQ(FormatRows({{"a", "b"}, {"long", "c"}, {}}, 80),
            "a     b\nlong  c\n\n");
}

TEST(TextTableTest, AlignsWideCharacters) {
  EXPECT_EQ(FormatRows({{"\u65e5\u672c", "b"}, {"long", "c"}}, 80),
            "\u65e5\u672c  b\nlong  c\n");
}

TEST(TextTableTest, EscapesCells) {
  EXPECT_EQ(FormatRows({{"a\nb", "\x1b[1mc"}}, 80), "a\\u000ab  \\u001b[1mc\n");
}

TEST(TextTableTest, WrapsLongCellsOfTheWidestColumn) {
  EXPECT_EQ(FormatRows({{"NAME", "MEANING"},
                        {"base", "the slowest pair makes one rotation"},
                        {"dim", "even"}},
                       30),
            "NAME  MEANING\n"
            "base  the slowest pair makes\n"
            "      one rotation\n"
            "dim   even\n");
}

TEST(TextTableTest, DoesNotWrapNumbers) {
  const std::string text = FormatRows(
      {{"", "VALUE", "NOTE"},
       {"x", "3.125 \u00b10.15 *", "a note that is long enough to be wrapped"}},
      36);
  EXPECT_THAT(text, HasSubstr("x  3.125 \u00b10.15 *  a note that is"));
}

TEST(TextTableTest, PrintsBlocksOfColumnsThatDoNotFit) {
  EXPECT_EQ(FormatRows({{"SCHEME", "AT 32", "AT 64", "AT 128"},
                        {"rope", "1.000", "0.500", "0.250"}},
                       20),
            "SCHEME  AT 32  AT 64\n"
            "rope    1.000  0.500\n"
            "\n"
            "SCHEME  AT 128\n"
            "rope    0.250\n");
}

TEST(TextTableTest, FoldsHeadersThatAreWiderThanTheirColumn) {
  EXPECT_EQ(FormatRows({{"PAIR", "TURNS IN 16384"}, {"0", "2608"}}, 12),
            "PAIR  TURNS\n"
            "      IN\n"
            "      16384\n"
            "0     2608\n");
}

TEST(TextTableTest, KeepsLongWordsWhole) {
  EXPECT_THAT(FormatRows({{"path", "/a/very/long/path/of/a/file.npy"}}, 20),
              HasSubstr("/a/very/long/path/of/a/file.npy\n"));
}

TEST(TextTableTest, StylesCellsAndHeadersOnlyWithColor) {
  const std::vector<std::vector<StyledCell>> rows = {{"NAME", "OK"},
                                                     {"a", {"yes", Good}}};
  EXPECT_EQ(FormatStyledRows(rows, 80), "NAME  OK\na     yes\n");
  ASSERT_TRUE(SetColor("always").ok());
  EXPECT_EQ(FormatStyledRows(rows, 80),
            "\x1b[1mNAME\x1b[0m  \x1b[1mOK\x1b[0m\n"
            "a     \x1b[32myes\x1b[0m\n");
  ASSERT_TRUE(SetColor("never").ok());
}

}  // namespace
}  // namespace locus::client
