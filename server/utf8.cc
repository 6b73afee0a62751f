#include "server/utf8.h"

#include <cstdint>

namespace locus::server {
namespace {

bool IsContinuation(uint8_t byte) { return (byte & 0xc0) == 0x80; }

size_t LengthByLead(uint8_t lead) {
  if (lead < 0x80) return 1;
  if (lead >= 0xc2 && lead < 0xe0) return 2;
  if (lead >= 0xe0 && lead < 0xf0) return 3;
  if (lead >= 0xf0 && lead < 0xf5) return 4;
  return 0;
}

// The second byte is what tells overlong forms, surrogates and code points
// beyond U+10FFFF apart.
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

}  // namespace locus::server
