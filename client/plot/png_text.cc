#include "client/plot/png_text.h"

#include <cstdint>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace locus::client::plot {
namespace {

// CRC-32 of PNG (ISO 3309, PNG specification, annex D).
uint32_t Crc32(absl::string_view bytes) {
  uint32_t crc = 0xffffffffu;
  for (const char byte : bytes) {
    crc ^= static_cast<uint8_t>(byte);
    for (int bit = 0; bit < 8; ++bit) {
      crc = (crc & 1) != 0 ? 0xedb88320u ^ (crc >> 1) : crc >> 1;
    }
  }
  return ~crc;
}

// Four bytes, most significant first.
std::string BigEndian(uint32_t value) {
  std::string bytes;
  for (int shift = 24; shift >= 0; shift -= 8) {
    bytes.push_back(static_cast<char>(value >> shift & 0xff));
  }
  return bytes;
}

// A chunk: length, type, data and checksum.
std::string Chunk(absl::string_view type, absl::string_view data) {
  const std::string body = absl::StrCat(type, data);
  return absl::StrCat(BigEndian(static_cast<uint32_t>(data.size())), body,
                      BigEndian(Crc32(body)));
}

std::string WithoutControls(absl::string_view text) {
  std::string line(text);
  for (char& c : line) {
    if (static_cast<uint8_t>(c) < 0x20 || c == 0x7f) c = ' ';
  }
  return line;
}

}  // namespace

void AddPngText(absl::string_view keyword, absl::string_view text,
                std::string& png) {
  // The signature, and the header chunk of 13 bytes with its frame of 12.
  constexpr size_t kHeaderEnd = 8 + 12 + 13;
  if (png.size() < kHeaderEnd || !absl::StartsWith(png, "\x89PNG\r\n\x1a\n")) {
    return;
  }
  const std::string line = WithoutControls(text);
  bool is_ascii = true;
  for (const char c : line) is_ascii &= static_cast<uint8_t>(c) < 0x80;
  const std::string separator(1, '\0');
  // After the keyword, iTXt has a compression flag, a compression method, and
  // an empty language and translated keyword.
  png.insert(kHeaderEnd,
             is_ascii
                 ? Chunk("tEXt", absl::StrCat(keyword, separator, line))
                 : Chunk("iTXt", absl::StrCat(keyword, separator,
                                              std::string(4, '\0'), line)));
}

}  // namespace locus::client::plot
