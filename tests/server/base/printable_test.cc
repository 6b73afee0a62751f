#include "server/base/printable.h"

#include <gtest/gtest.h>

#include <string>

namespace locus::server {
namespace {

TEST(PrintableTest, KeepsPrintableText) {
  EXPECT_EQ(Printable("", 10), "");
  EXPECT_EQ(Printable("a \"b\" \\c", 100), "a \"b\" \\c");
  EXPECT_EQ(Printable("gr\u00fc\u00dfe \u4f60", 100), "gr\u00fc\u00dfe \u4f60");
  // Neighbours of the characters that are escaped.
  EXPECT_EQ(Printable("\u00a0\u2027\u202f\u206a\U0001f600", 100),
            "\u00a0\u2027\u202f\u206a\U0001f600");
}

TEST(PrintableTest, EscapesControlAndBidirectionalCharacters) {
  EXPECT_EQ(Printable("a\nb\t\x7f", 100), "a\\x0ab\\x09\\x7f");
  EXPECT_EQ(
      Printable("a\u0085\u009b\u2028\u2029\u202e\u2066\u200e\u061cb", 100),
      "a\\u0085\\u009b\\u2028\\u2029\\u202e\\u2066\\u200e\\u061cb");
  EXPECT_EQ(Printable(std::string(1, '\0'), 100), "\\x00");
}

TEST(PrintableTest, EscapesInvalidUtf8) {
  EXPECT_EQ(Printable("\xff\xe2\x82z", 100), "\\xff\\xe2\\x82z");
  // An overlong encoding and a surrogate.
  EXPECT_EQ(Printable("\xc0\x80\xed\xa0\x80", 100),
            "\\xc0\\x80\\xed\\xa0\\x80");
  EXPECT_EQ(Printable("a\nb\x7f\xff\u00e9", 100), "a\\x0ab\\x7f\\xff\u00e9");
}

TEST(PrintableTest, CutsLongTextAtACharacter) {
  EXPECT_EQ(Printable("abcdef", 6), "abcdef");
  EXPECT_EQ(Printable("abcdef", 5), "abcde...");
  EXPECT_EQ(Printable("abcdef", 3), "abc...");
  // The second character has two bytes, and only one of them would fit.
  EXPECT_EQ(Printable("a\u00fcb", 2), "a...");
  // An escape sequence is not cut either.
  EXPECT_EQ(Printable("ab\n", 4), "ab...");
}

}  // namespace
}  // namespace locus::server
