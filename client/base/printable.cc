#include "client/base/printable.h"

#include <cstddef>
#include <cstdint>

#include "absl/strings/str_format.h"

namespace locus::client {
namespace {

constexpr absl::string_view kReplacement = "\xef\xbf\xbd";  // U+FFFD

// The first character of a text.
struct Character {
  // Length in bytes.
  size_t length = 0;
  uint32_t code_point = 0;
  bool is_valid = false;
};

// Decodes one character as in RFC 3629: no overlong forms, no surrogates,
// nothing above U+10FFFF. An invalid character is one byte long. `text` must
// not be empty.
Character Decode(absl::string_view text) {
  const auto lead = static_cast<uint8_t>(text[0]);
  if (lead < 0x80) return {1, lead, true};
  const size_t length = lead < 0xc2   ? 0
                        : lead < 0xe0 ? 2
                        : lead < 0xf0 ? 3
                        : lead < 0xf5 ? 4
                                      : 0;
  if (length == 0 || text.size() < length) return {.length = 1};
  uint32_t code_point = lead & (0x7fu >> length);
  for (size_t i = 1; i < length; ++i) {
    const auto byte = static_cast<uint8_t>(text[i]);
    if ((byte & 0xc0) != 0x80) return {.length = 1};
    code_point = code_point << 6 | (byte & 0x3fu);
  }
  const bool is_overlong = code_point < (length == 4   ? 0x10000u
                                         : length == 3 ? 0x800u
                                                       : 0x80u);
  const bool is_surrogate = code_point >= 0xd800 && code_point < 0xe000;
  if (is_overlong || is_surrogate || code_point > 0x10ffff) {
    return {.length = 1};
  }
  return {length, code_point, true};
}

bool IsDeceptive(uint32_t code_point) {
  return code_point < 0x20 || (code_point >= 0x7f && code_point < 0xa0) ||
         code_point == 0x061c || code_point == 0x200e || code_point == 0x200f ||
         (code_point >= 0x2028 && code_point <= 0x202e) ||
         (code_point >= 0x2066 && code_point <= 0x2069);
}

std::string EscapeText(absl::string_view text, absl::string_view kept) {
  const auto is_kept = [kept](uint32_t code_point) {
    return code_point < 0x80 &&
           kept.find(static_cast<char>(code_point)) != kept.npos;
  };
  std::string result;
  result.reserve(text.size());
  while (!text.empty()) {
    const Character character = Decode(text);
    if (!character.is_valid) {
      result.append(kReplacement.data(), kReplacement.size());
    } else if (IsDeceptive(character.code_point) &&
               !is_kept(character.code_point)) {
      absl::StrAppendFormat(&result, "\\u%04x", character.code_point);
    } else {
      result.append(text.data(), character.length);
    }
    text.remove_prefix(character.length);
  }
  return result;
}

}  // namespace

std::string Printable(absl::string_view text) {
  return EscapeText(text, "\n\t");
}

std::string PrintableLine(absl::string_view text) {
  return EscapeText(text, "");
}

}  // namespace locus::client
