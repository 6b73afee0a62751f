#include "client/cli/render/number_text.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

namespace locus::client {
namespace {

std::string Formatted(const char* format, double value) {
  char text[64];
  std::snprintf(text, sizeof(text), format, value + 0.0);  // no negative zero
  return text;
}

}  // namespace

size_t CharacterCount(absl::string_view text) {
  return std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xc0) != 0x80;
  });
}

std::string ShortText(double value) {
  if (std::isinf(value)) return "-";
  const double size = std::abs(value);
  return Formatted(size >= 999.95 && size < 1e10 ? "%.0f" : "%.4g", value);
}

std::string TokenCountText(double length) {
  if (std::isinf(length)) return "-";
  return Formatted(std::abs(length) < 1e15 ? "%.0f" : "%.4g", length);
}

std::string SpanText(const std::vector<int64_t>& indices) {
  std::vector<std::string> runs;
  for (size_t i = 0; i < indices.size();) {
    size_t end = i;
    while (end + 1 < indices.size() && indices[end + 1] == indices[end] + 1) {
      ++end;
    }
    runs.push_back(i == end ? absl::StrCat(indices[i])
                            : absl::StrCat(indices[i], " to ", indices[end]));
    i = end + 1;
  }
  return absl::StrJoin(runs, ", ");
}

std::string Paragraph(absl::string_view text, size_t indent, size_t width) {
  std::string wrapped;
  size_t column = 0;
  for (const absl::string_view word :
       absl::StrSplit(text, ' ', absl::SkipEmpty())) {
    const size_t size = CharacterCount(word);
    if (column > 0 && column + 1 + size > width) {
      absl::StrAppend(&wrapped, "\n", std::string(indent, ' '), word);
      column = indent + size;
    } else {
      absl::StrAppend(&wrapped, column == 0 ? "" : " ", word);
      column += size + (column == 0 ? 0 : 1);
    }
  }
  wrapped.push_back('\n');
  return wrapped;
}

std::string SentenceList(const std::vector<std::string>& sentences) {
  std::string text;
  for (const std::string& sentence : sentences) {
    absl::StrAppend(&text, text.empty() ? Paragraph(sentence)
                                        : Paragraph("- " + sentence, 2));
  }
  return text;
}

}  // namespace locus::client
