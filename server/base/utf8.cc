#include "server/base/utf8.h"

#include <cstdint>

namespace locus::server {
namespace {

bool IsContinuation(uint8_t byte) { return (byte & 0xc0) == 0x80; }

// Length of a character by its first byte; 0 if no character begins with it.
size_t LengthByLead(uint8_t lead) {
  if (lead < 0x80) return 1;
  if (lead >= 0xc2 && lead < 0xe0) return 2;
  if (lead >= 0xe0 && lead < 0xf0) return 3;
  if (lead >= 0xf0 && lead < 0xf5) return 4;
  return 0;
}

// The second byte distinguishes valid characters from overlong forms,
// surrogates and code points above U+10FFFF (RFC 3629, section 4).
bool IsSecondAllowed(uint8_t lead, uint8_t second) {
  switch (lead) {
    case 0xe0:
      return second >= 0xa0;
    case 0xed:
      return second < 0xa0;
    case 0xf0:
      return second >= 0x90;
    case 0xf4:
      return second < 0x90;
    default:
      return true;
  }
}

}  // namespace

size_t Utf8Length(absl::string_view text) {
  if (text.empty()) return 0;
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  const size_t length = LengthByLead(byte(0));
  if (length > text.size()) return 0;
  for (size_t i = 1; i < length; ++i) {
    if (!IsContinuation(byte(i))) return 0;
  }
  if (length > 1 && !IsSecondAllowed(byte(0), byte(1))) return 0;
  return length;
}

uint32_t CodePointOf(absl::string_view character) {
  const auto lead = static_cast<uint8_t>(character[0]);
  if (character.size() == 1) return lead;
  uint32_t code_point = lead & (0x7fu >> character.size());
  for (const char c : character.substr(1)) {
    code_point = code_point << 6 | (static_cast<uint8_t>(c) & 0x3fu);
  }
  return code_point;
}

bool IsDeceptive(uint32_t code_point) {
  return code_point < 0x20 || (code_point >= 0x7f && code_point < 0xa0) ||
         code_point == 0x061c || code_point == 0x200e || code_point == 0x200f ||
         (code_point >= 0x2028 && code_point <= 0x202e) ||
         (code_point >= 0x2066 && code_point <= 0x2069);
}

}  // namespace locus::server
