#include "server/base/printable.h"

#include <cstdint>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "server/base/utf8.h"

namespace locus::server {

std::string Printable(absl::string_view text, size_t max_bytes) {
  // Fast path: most texts are plain ASCII, and rejecting a call must be cheap.
  if (text.size() <= max_bytes && absl::c_all_of(text, absl::ascii_isprint)) {
    return std::string(text);
  }
  std::string result;
  while (!text.empty()) {
    const size_t length = Utf8Length(text);
    const size_t step = length == 0 ? 1 : length;
    std::string piece(text.substr(0, step));
    const uint32_t code_point = CodePointOf(piece);
    if (step == 1 && (length == 0 || IsDeceptive(code_point))) {
      piece = absl::StrCat("\\x", absl::BytesToHexString(piece));
    } else if (IsDeceptive(code_point)) {
      piece = absl::StrFormat("\\u%04x", code_point);
    }
    if (result.size() + piece.size() > max_bytes) return result + "...";
    result += piece;
    text.remove_prefix(step);
  }
  return result;
}

}  // namespace locus::server
