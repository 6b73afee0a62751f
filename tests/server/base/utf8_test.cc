#include "server/base/utf8.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace locus::server {
namespace {

TEST(Utf8Test, DecodesCharactersOfEveryLength) {
  const std::vector<std::pair<std::string, uint32_t>> characters = {
      {std::string(1, '\0'), 0},
      {"\x7f", 0x7f},
      {"\xc2\x80", 0x80},
      {"\xdf\xbf", 0x7ff},
      {"\xe0\xa0\x80", 0x800},
      {"\xed\x9f\xbf", 0xd7ff},
      {"\xee\x80\x80", 0xe000},
      {"\xef\xbf\xbf", 0xffff},
      {"\xf0\x90\x80\x80", 0x10000},
      {"\xf4\x8f\xbf\xbf", 0x10ffff}};
  for (const auto& [bytes, code_point] : characters) {
    EXPECT_EQ(Utf8Length(bytes), bytes.size()) << code_point;
    EXPECT_EQ(CodePointOf(bytes), code_point);
  }
}

TEST(Utf8Test, MeasuresTheFirstCharacterOnly) {
  EXPECT_EQ(Utf8Length("\xc3\xa9\xff"), 2u);
  EXPECT_EQ(Utf8Length("a\xff"), 1u);
}

TEST(Utf8Test, RejectsMalformedBytes) {
  for (const std::string& bytes :
       std::vector<std::string>{"",
                                "\x80",      // continuation byte without a lead
                                "\xc3",      // truncated
                                "\xe2\x82",  // truncated
                                "\xf0\x9f\x98",      // truncated
                                "\xc3\x28",          // not a continuation byte
                                "\xe2\x28\xa1",      // not a continuation byte
                                "\xc0\x80",          // overlong form of U+0000
                                "\xc1\xbf",          // overlong form of U+007F
                                "\xe0\x9f\xbf",      // overlong form of U+07FF
                                "\xf0\x8f\xbf\xbf",  // overlong form of U+FFFF
                                "\xed\xa0\x80",      // surrogate U+D800
                                "\xed\xbf\xbf",      // surrogate U+DFFF
                                "\xf4\x90\x80\x80",  // above U+10FFFF
                                "\xf5\x80\x80\x80", "\xfe", "\xff"}) {
    EXPECT_EQ(Utf8Length(bytes), 0u) << testing::PrintToString(bytes);
  }
}

TEST(Utf8Test, ControlAndBidirectionalCharactersAreDeceptive) {
  for (const uint32_t code_point :
       {0x00u, 0x1fu, 0x7fu, 0x80u, 0x9fu, 0x061cu, 0x200eu, 0x200fu, 0x2028u,
        0x2029u, 0x202au, 0x202eu, 0x2066u, 0x2069u}) {
    EXPECT_TRUE(IsDeceptive(code_point)) << std::hex << code_point;
  }
  for (const uint32_t code_point :
       {0x20u, 0x7eu, 0xa0u, 0x061bu, 0x200du, 0x2010u, 0x2027u, 0x202fu,
        0x2065u, 0x206au, 0x4f60u, 0x1f600u}) {
    EXPECT_FALSE(IsDeceptive(code_point)) << std::hex << code_point;
  }
}

}  // namespace
}  // namespace locus::server
