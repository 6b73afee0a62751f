#include "client/cli/render/number_text.h"

#include <limits>

#include "client/cli/render/column_blocks.h"
#include "gtest/gtest.h"

namespace locus::client {
namespace {

TEST(NumberTextTest, LargeNumbersAreIntegersNotPowersOfTen) {
  EXPECT_EQ(ShortText(16384), "16384");
  EXPECT_EQ(ShortText(20473563.9), "20473564");
  EXPECT_EQ(ShortText(999.96), "1000");
  EXPECT_EQ(ShortText(999.94), "999.9");
  EXPECT_EQ(ShortText(-4096.4), "-4096");
  EXPECT_EQ(ShortText(7.90569e-05), "7.906e-05");
  EXPECT_EQ(ShortText(1e30), "1e+30");
  EXPECT_EQ(ShortText(-0.0), "0");
  EXPECT_EQ(ShortText(std::numeric_limits<double>::infinity()), "-");
  EXPECT_EQ(TokenCountText(131072), "131072");
  EXPECT_EQ(TokenCountText(123456789012345), "123456789012345");
}

TEST(NumberTextTest, SpansShortenRuns) {
  EXPECT_EQ(SpanText({}), "");
  EXPECT_EQ(SpanText({3}), "3");
  EXPECT_EQ(SpanText({3, 4, 5}), "3 to 5");
  EXPECT_EQ(SpanText({0, 2, 3, 7}), "0, 2 to 3, 7");
}

TEST(NumberTextTest, ParagraphsBreakBetweenWordsAndIndent) {
  EXPECT_EQ(Paragraph("aa bb cc", 2, 5), "aa bb\n  cc\n");
  EXPECT_EQ(Paragraph("longword a", 0, 4), "longword\na\n");
  // A character of two bytes takes one column.
  EXPECT_EQ(Paragraph("\xc3\x97\xc3\x97 b", 0, 4), "\xc3\x97\xc3\x97 b\n");
  EXPECT_EQ(SentenceList({"One.", "Two."}), "One.\n- Two.\n");
}

TEST(ColumnBlocksTest, GroupsThatDoNotFitFollowBelow) {
  const std::vector<ColumnGroup> groups = {
      {{"A", "1"}}, {{"BB", "2"}, {"C", "3"}}, {{"D", "4"}}};
  EXPECT_EQ(FormatColumnBlocks({"N", "x"}, groups, 80),
            "N  A  BB  C  D\nx  1  2   3  4\n");
  EXPECT_EQ(FormatColumnBlocks({"N", "x"}, groups, 11),
            "N  A  BB  C\nx  1  2   3\n\nN  D\nx  4\n");
  // The columns of a group stay together.
  EXPECT_EQ(FormatColumnBlocks({"N", "x"}, groups, 8),
            "N  A\nx  1\n\nN  BB  C\nx  2   3\n\nN  D\nx  4\n");
}

}  // namespace
}  // namespace locus::client
