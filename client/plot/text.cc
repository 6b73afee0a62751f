#include "client/plot/text.h"

#include <cstdint>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace locus::client::plot {
namespace {

constexpr char32_t kReplacement = 0xfffd;

// Decodes and removes the first UTF-8 character of `text`, which must not be
// empty. Returns U+FFFD for an invalid byte.
char32_t TakeCharacter(absl::string_view& text) {
  const auto byte = [&text](size_t i) { return static_cast<uint8_t>(text[i]); };
  const uint8_t first = byte(0);
  const int length = first < 0x80                     ? 1
                     : first >= 0xc2 && first <= 0xdf ? 2
                     : first >= 0xe0 && first <= 0xef ? 3
                     : first >= 0xf0 && first <= 0xf4 ? 4
                                                      : 0;
  char32_t character = length <= 1 ? first : first & (0x7f >> length);
  bool valid = length > 0 && text.size() >= static_cast<size_t>(length);
  for (int i = 1; valid && i < length; ++i) {
    valid = (byte(i) & 0xc0) == 0x80;
    character = (character << 6) | (byte(i) & 0x3f);
  }
  // Minimum code point by length; smaller ones are overlong encodings.
  constexpr char32_t kMinByLength[] = {0, 0, 0x80, 0x800, 0x10000};
  valid = valid && character >= kMinByLength[length] && character <= 0x10ffff &&
          !(character >= 0xd800 && character <= 0xdfff);
  text.remove_prefix(valid ? length : 1);
  return valid ? character : kReplacement;
}

// Returns the width in multiples of the font size, based on DejaVu Sans, which
// is a wide font.
double CharacterWidth(char32_t character) {
  if (character >= 0x300 && character <= 0x36f) return 0;  // Combining accents.
  if (character >= 0x1100) return character < 0x2e80 ? 0.75 : 1.0;
  if (character >= 0x80) return 0.66;
  const char c = static_cast<char>(character);
  if (absl::string_view(" .,:;'|!iIljft()[]/\"").find(c) !=
      absl::string_view::npos) {
    return 0.38;
  }
  if (absl::string_view("mwMW@%").find(c) != absl::string_view::npos) {
    return 0.95;
  }
  return c >= 'A' && c <= 'Z' ? 0.71 : 0.63;
}

bool IsXmlCharacter(char32_t character) {
  return character == '\t' || character == '\n' || character == '\r' ||
         (character >= 0x20 && character != 0xfffe && character != 0xffff);
}

}  // namespace

double TextWidth(absl::string_view text, double size) {
  double width = 0;
  while (!text.empty()) width += CharacterWidth(TakeCharacter(text));
  return width * size;
}

std::string Ellipsized(absl::string_view text, double size, double width) {
  if (TextWidth(text, size) <= width) return std::string(text);
  const double room = width - TextWidth("…", size);
  absl::string_view rest = text;
  double used = 0;
  size_t fitting = 0;
  while (!rest.empty()) {
    used += CharacterWidth(TakeCharacter(rest)) * size;
    if (used > room) break;
    fitting = text.size() - rest.size();
  }
  return absl::StrCat(text.substr(0, fitting), "…");
}

std::vector<std::string> WrapWords(absl::string_view text, double size,
                                   double width) {
  std::vector<std::string> lines;
  for (const absl::string_view word :
       absl::StrSplit(text, ' ', absl::SkipEmpty())) {
    if (!lines.empty() &&
        TextWidth(absl::StrCat(lines.back(), " ", word), size) <= width) {
      absl::StrAppend(&lines.back(), " ", word);
    } else {
      lines.push_back(Ellipsized(word, size, width));
    }
  }
  return lines;
}

std::string Escape(absl::string_view text) {
  std::string escaped;
  escaped.reserve(text.size());
  while (!text.empty()) {
    const absl::string_view before = text;
    const char32_t character = TakeCharacter(text);
    switch (character) {
      case '&':
        escaped += "&amp;";
        break;
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '"':
        escaped += "&quot;";
        break;
      case '\'':
        escaped += "&#39;";
        break;
      default:
        if (character == kReplacement || !IsXmlCharacter(character)) {
          escaped += "\xef\xbf\xbd";
        } else {
          absl::StrAppend(&escaped,
                          before.substr(0, before.size() - text.size()));
        }
    }
  }
  return escaped;
}

}  // namespace locus::client::plot
