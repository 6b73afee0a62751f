#include "client/cli/support/text_layout.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace locus::client {
namespace {

struct Range {
  uint32_t first;
  uint32_t last;
};

// Blocks of characters without a column of their own: combining marks, zero
// width spaces and joiners, variation selectors and emoji skin tones, which
// modify the emoji before them.
constexpr Range kZeroWidth[] = {
    {0x0300, 0x036f}, {0x0483, 0x0489},   {0x0591, 0x05bd},  {0x0610, 0x061a},
    {0x064b, 0x065f}, {0x0900, 0x0902},   {0x093c, 0x093c},  {0x0941, 0x0948},
    {0x1ab0, 0x1aff}, {0x1dc0, 0x1dff},   {0x200b, 0x200d},  {0x20d0, 0x20ff},
    {0x302a, 0x302d}, {0x3099, 0x309a},   {0xfe00, 0xfe0f},  {0xfe20, 0xfe2f},
    {0xfeff, 0xfeff}, {0x1f3fb, 0x1f3ff}, {0xe0100, 0xe01ef}};

// Blocks of the wide characters of Unicode's East Asian Width property.
constexpr Range kWide[] = {
    {0x1100, 0x115f},   {0x231a, 0x231b},   {0x23e9, 0x23ec},
    {0x2614, 0x2615},   {0x26a1, 0x26a1},   {0x2705, 0x2705},
    {0x274c, 0x274c},   {0x2753, 0x2755},   {0x2757, 0x2757},
    {0x2795, 0x2797},   {0x2b50, 0x2b50},   {0x2e80, 0x303e},
    {0x3041, 0x33ff},   {0x3400, 0x4dbf},   {0x4e00, 0x9fff},
    {0xa000, 0xa4cf},   {0xa960, 0xa97f},   {0xac00, 0xd7a3},
    {0xf900, 0xfaff},   {0xfe30, 0xfe6f},   {0xff00, 0xff60},
    {0xffe0, 0xffe6},   {0x16fe0, 0x18cff}, {0x1b000, 0x1b2ff},
    {0x1f004, 0x1f004}, {0x1f0cf, 0x1f0cf}, {0x1f18e, 0x1f18e},
    {0x1f191, 0x1f19a}, {0x1f200, 0x1f320}, {0x1f32d, 0x1f335},
    {0x1f337, 0x1f37c}, {0x1f37e, 0x1f393}, {0x1f3a0, 0x1f3ca},
    {0x1f3cf, 0x1f3d3}, {0x1f3e0, 0x1f3f0}, {0x1f3f4, 0x1f3f4},
    {0x1f3f8, 0x1f43e}, {0x1f440, 0x1f440}, {0x1f442, 0x1f4fc},
    {0x1f4ff, 0x1f53d}, {0x1f54b, 0x1f54e}, {0x1f550, 0x1f567},
    {0x1f595, 0x1f596}, {0x1f5a4, 0x1f5a4}, {0x1f5fb, 0x1f64f},
    {0x1f680, 0x1f6c5}, {0x1f6cc, 0x1f6cc}, {0x1f6d0, 0x1f6d7},
    {0x1f6eb, 0x1f6ec}, {0x1f6f4, 0x1f6fc}, {0x1f7e0, 0x1f7eb},
    {0x1f90c, 0x1f9ff}, {0x1fa70, 0x1faff}, {0x20000, 0x3fffd}};

template <size_t n>
bool IsIn(uint32_t code_point, const Range (&ranges)[n]) {
  const auto* const range = std::partition_point(
      std::begin(ranges), std::end(ranges),
      [code_point](const Range& one) { return one.last < code_point; });
  return range != std::end(ranges) && range->first <= code_point;
}

// A unit of text that must not be broken: a character or a colour sequence.
struct Unit {
  size_t length;
  int width;
};

// The length of the colour sequence at the beginning of `text`; 0 if there is
// none.
size_t ColorSequenceLength(absl::string_view text) {
  if (text.size() < 3 || text[0] != '\x1b' || text[1] != '[') return 0;
  const size_t end = text.find_first_not_of("0123456789;", 2);
  return end != text.npos && text[end] == 'm' ? end + 1 : 0;
}

Unit FirstUnit(absl::string_view text) {
  if (const size_t length = ColorSequenceLength(text)) return {length, 0};
  const auto lead = static_cast<uint8_t>(text[0]);
  if (lead < 0x80) return {1, 1};
  uint32_t code_point = lead < 0xe0   ? lead & 0x1fu
                        : lead < 0xf0 ? lead & 0x0fu
                                      : lead & 0x07u;
  size_t length = 1;
  while (length < text.size() && length < 4 &&
         (static_cast<uint8_t>(text[length]) & 0xc0u) == 0x80u) {
    code_point = code_point << 6 | (static_cast<uint8_t>(text[length]) & 0x3fu);
    ++length;
  }
  if (IsIn(code_point, kZeroWidth)) return {length, 0};
  return {length, IsIn(code_point, kWide) ? 2 : 1};
}

std::string Spaces(int count) {
  return std::string(static_cast<size_t>(std::max(count, 0)), ' ');
}

}  // namespace

int DisplayWidth(absl::string_view text) {
  int width = 0;
  while (!text.empty()) {
    const Unit unit = FirstUnit(text);
    width += unit.width;
    text.remove_prefix(unit.length);
  }
  return width;
}

std::string PadLeft(absl::string_view text, int width) {
  return absl::StrCat(Spaces(width - DisplayWidth(text)), text);
}

std::string PadRight(absl::string_view text, int width) {
  return absl::StrCat(text, Spaces(width - DisplayWidth(text)));
}

absl::string_view PrefixOfWidth(absl::string_view text, int width) {
  size_t length = 0;
  int used = 0;
  while (length < text.size()) {
    const Unit unit = FirstUnit(text.substr(length));
    if (used + unit.width > width && length > 0) break;
    used += unit.width;
    length += unit.length;
  }
  return text.substr(0, length);
}

std::vector<std::string> WrapWords(absl::string_view text, int width) {
  std::vector<std::string> lines = {""};
  int used = 0;
  for (const absl::string_view word :
       absl::StrSplit(text, absl::ByAnyChar(" \n\r\t"), absl::SkipEmpty())) {
    const int needed = DisplayWidth(word);
    if (used > 0 && used + 1 + needed > width) {
      lines.emplace_back();
      used = 0;
    }
    absl::StrAppend(&lines.back(), used > 0 ? " " : "", word);
    used += needed + (used > 0 ? 1 : 0);
  }
  return lines;
}

std::string WrapParagraph(absl::string_view text, int width, int indent) {
  std::string wrapped;
  for (const std::string& line : WrapWords(text, width - indent)) {
    absl::StrAppend(&wrapped, Spaces(indent), line, "\n");
  }
  return wrapped;
}

}  // namespace locus::client
