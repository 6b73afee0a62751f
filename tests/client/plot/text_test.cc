#include "client/plot/text.h"

#include "gtest/gtest.h"

namespace locus::client::plot {
namespace {

constexpr char kReplacement[] = "\xef\xbf\xbd";

TEST(EscapeTest, EscapesMarkup) {
  EXPECT_EQ(Escape("<a b=\"c\" d='e'>&"),
            "&lt;a b=&quot;c&quot; d=&#39;e&#39;&gt;&amp;");
}

TEST(EscapeTest, KeepsOtherScripts) {
  EXPECT_EQ(Escape("\xc3\xa9 \xe4\xbd\x8d \xf0\x9f\x98\x80"),
            "\xc3\xa9 \xe4\xbd\x8d \xf0\x9f\x98\x80");
}

TEST(EscapeTest, ReplacesInvalidXmlCharacters) {
  EXPECT_EQ(Escape(absl::string_view("a\0b", 3)),
            std::string("a") + kReplacement + "b");
  EXPECT_EQ(Escape("\x1b[31m"), std::string(kReplacement) + "[31m");
  EXPECT_EQ(Escape("\xef\xbf\xbf"), kReplacement);
}

TEST(EscapeTest, ReplacesInvalidUtf8) {
  EXPECT_EQ(Escape("\xff"), kReplacement);
  EXPECT_EQ(Escape("a\xc3"), std::string("a") + kReplacement);
  // An overlong encoding of a slash, and half of a surrogate pair.
  EXPECT_EQ(Escape("\xc0\xaf"), std::string(kReplacement) + kReplacement);
  EXPECT_EQ(Escape("\xed\xa0\x80").find('\xed'), std::string::npos);
}

TEST(TextWidthTest, GrowsWithTextAndSize) {
  EXPECT_GT(TextWidth("mm", 10), TextWidth("ii", 10));
  EXPECT_DOUBLE_EQ(TextWidth("rope", 20), 2 * TextWidth("rope", 10));
  EXPECT_EQ(TextWidth("", 10), 0);
}

TEST(EllipsizedTest, FitsWidthAndKeepsWholeCharacters) {
  const std::string cut =
      Ellipsized("\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9", 10, 20);
  EXPECT_LE(TextWidth(cut, 10), 20);
  EXPECT_EQ(cut, "\xc3\xa9\xe2\x80\xa6");
  EXPECT_EQ(Ellipsized("rope", 10, 100), "rope");
}

}  // namespace
}  // namespace locus::client::plot
