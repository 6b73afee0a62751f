#include "client/base/printable.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace locus::client {
namespace {

// The UTF-8 form of a code point below U+10000.
std::string Utf8(uint32_t code_point) {
  if (code_point < 0x80) return std::string(1, static_cast<char>(code_point));
  std::string text(1, static_cast<char>(0x80 | (code_point & 0x3f)));
  if (code_point < 0x800) {
    return static_cast<char>(0xc0 | code_point >> 6) + text;
  }
  text.insert(0, 1, static_cast<char>(0x80 | (code_point >> 6 & 0x3f)));
  return static_cast<char>(0xe0 | code_point >> 12) + text;
}

// The characters that may not reach a terminal, from first to last.
constexpr std::pair<uint32_t, uint32_t> kDeceptive[] = {
    {0x00, 0x08},     {0x0b, 0x1f},     {0x7f, 0x9f},    {0x61c, 0x61c},
    {0x200e, 0x200f}, {0x2028, 0x202e}, {0x2066, 0x2069}};

TEST(PrintableTest, EscapesAllDeceptiveCharactersAndNoOthers) {
  for (uint32_t code_point = 0; code_point < 0x3000; ++code_point) {
    bool deceptive = false;
    for (const auto& [first, last] : kDeceptive) {
      deceptive |= code_point >= first && code_point <= last;
    }
    const std::string text = absl::StrCat("a", Utf8(code_point), "b");
    EXPECT_EQ(Printable(text),
              deceptive ? absl::StrFormat("a\\u%04xb", code_point) : text);
  }
}

TEST(PrintableTest, OnlyALineEscapesNewlinesAndTabs) {
  EXPECT_EQ(Printable("one\n\ttwo"), "one\n\ttwo");
  EXPECT_EQ(PrintableLine("one\n\ttwo\x1b"), "one\\u000a\\u0009two\\u001b");
}

TEST(PrintableTest, ReplacesInvalidUtf8) {
  const std::string replacement = "\xef\xbf\xbd";
  // A lone continuation byte (CSI in eight-bit terminals), an overlong slash, a
  // surrogate, a character above U+10FFFF, and one that is cut short.
  EXPECT_EQ(Printable("a\x9b"
                      "b"),
            absl::StrCat("a", replacement, "b"));
  EXPECT_EQ(Printable("\xc0\xaf"), absl::StrCat(replacement, replacement));
  EXPECT_EQ(Printable("\xe0\x80\xaf"),
            absl::StrCat(replacement, replacement, replacement));
  EXPECT_EQ(Printable("\xed\xa0\x80"),
            absl::StrCat(replacement, replacement, replacement));
  EXPECT_EQ(Printable("\xf4\x90\x80\x80"),
            absl::StrCat(replacement, replacement, replacement, replacement));
  EXPECT_EQ(Printable("\xe2\x80"), absl::StrCat(replacement, replacement));
  EXPECT_EQ(Printable("\xf0\x9f\x98\x80 \xc3\xa9"),
            "\xf0\x9f\x98\x80 \xc3\xa9");
}

TEST(PrintableTest, JsonKeepsItsMeaning) {
  nlohmann::json document = {{"name", "rope \u202e \u009b31m \u2067"},
                             {"note", "a\n\t\x7f"}};
  for (const int indent : {-1, 1}) {
    const std::string escaped = Printable(document.dump(indent));
    EXPECT_EQ(escaped.find("\xe2\x80"), std::string::npos);
    EXPECT_EQ(nlohmann::json::parse(escaped), document);
  }
}

}  // namespace
}  // namespace locus::client
