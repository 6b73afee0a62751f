#include "client/io/npy_header.h"

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/base/status_macros.h"

namespace locus::client {
namespace {

// NumPy's own limit on the number of axes.
constexpr size_t kMaxRank = 32;

absl::Status Malformed(absl::string_view what) {
  return absl::InvalidArgumentError(
      absl::StrCat("the .npy header is malformed: ", what));
}

// Recursive-descent parser of the dictionary.
class Parser {
 public:
  explicit Parser(absl::string_view text) : rest_(text) {}

  absl::StatusOr<NpyHeader> Parse() {
    NpyHeader header;
    if (!Take('{')) return Malformed("no dictionary");
    while (!Take('}')) {
      CLIENT_RETURN_IF_ERROR(ParseEntry(&header));
      if (!Take(',') && Peek() != '}') return Malformed("no , between entries");
    }
    if (Peek() != '\0') return Malformed("text after the dictionary");
    if (!has_descr_ || !has_order_ || !has_shape_) {
      return Malformed("descr, fortran_order or shape is missing");
    }
    return header;
  }

 private:
  absl::Status ParseEntry(NpyHeader* header) {
    CLIENT_ASSIGN_OR_RETURN(const std::string key, ParseString());
    if (!Take(':')) return Malformed("no : after a key");
    if (key == "descr") return ParseDescr(header);
    if (key == "fortran_order") return ParseOrder(header);
    if (key == "shape") return ParseShape(header);
    return Malformed("unknown key");
  }

  absl::Status ParseDescr(NpyHeader* header) {
    if (Peek() == '[') {
      return absl::InvalidArgumentError(
          "structured types (records) are not supported; save one plain array");
    }
    has_descr_ = true;
    CLIENT_ASSIGN_OR_RETURN(header->descr, ParseString());
    return absl::OkStatus();
  }

  absl::Status ParseOrder(NpyHeader* header) {
    has_order_ = true;
    if (TakeWord("True")) {
      header->fortran_order = true;
    } else if (TakeWord("False")) {
      header->fortran_order = false;
    } else {
      return Malformed("fortran_order is neither True nor False");
    }
    return absl::OkStatus();
  }

  absl::Status ParseShape(NpyHeader* header) {
    has_shape_ = true;
    header->shape.clear();
    if (!Take('(')) return Malformed("shape is not a tuple");
    while (!Take(')')) {
      CLIENT_ASSIGN_OR_RETURN(const int64_t extent, ParseExtent());
      header->shape.push_back(extent);
      if (header->shape.size() > kMaxRank) {
        return Malformed(absl::StrCat("more than ", kMaxRank, " axes"));
      }
      if (!Take(',') && Peek() != ')') return Malformed("shape is not a tuple");
    }
    return absl::OkStatus();
  }

  absl::StatusOr<int64_t> ParseExtent() {
    Peek();  // Skips white space.
    size_t length = 0;
    while (length < rest_.size() &&
           (absl::ascii_isdigit(rest_[length]) || rest_[length] == '-')) {
      ++length;
    }
    int64_t extent = 0;
    if (!absl::SimpleAtoi(rest_.substr(0, length), &extent)) {
      return Malformed("an axis of the shape is not a number of 64 bits");
    }
    if (extent < 0) return Malformed("an axis of the shape is negative");
    rest_.remove_prefix(length);
    TakeWord("L");  // Python 2 writes long integers as 3L.
    return extent;
  }

  absl::StatusOr<std::string> ParseString() {
    const char quote = Peek();
    if (quote != '\'' && quote != '"') return Malformed("no quoted string");
    const size_t end = rest_.find(quote, 1);
    if (end == absl::string_view::npos) return Malformed("an open string");
    std::string result(rest_.substr(1, end - 1));
    rest_.remove_prefix(end + 1);
    return result;
  }

  // Skips white space and returns the next character, or 0 at the end.
  char Peek() {
    rest_ = absl::StripLeadingAsciiWhitespace(rest_);
    return rest_.empty() ? '\0' : rest_.front();
  }

  bool Take(char expected) {
    if (Peek() != expected || rest_.empty()) return false;
    rest_.remove_prefix(1);
    return true;
  }

  bool TakeWord(absl::string_view word) {
    Peek();
    if (rest_.substr(0, word.size()) != word) return false;
    rest_.remove_prefix(word.size());
    return true;
  }

  absl::string_view rest_;
  bool has_descr_ = false;
  bool has_order_ = false;
  bool has_shape_ = false;
};

}  // namespace

absl::StatusOr<NpyHeader> ParseNpyHeader(absl::string_view text) {
  return Parser(text).Parse();
}

std::string FormatNpyHeader(const NpyHeader& header) {
  constexpr size_t kPreambleBytes = 10;
  constexpr size_t kAlignment = 64;
  std::string dictionary = absl::StrCat(
      "{'descr': '", header.descr,
      "', 'fortran_order': ", header.fortran_order ? "True" : "False",
      ", 'shape': (", absl::StrJoin(header.shape, ", "),
      header.shape.size() == 1 ? ",), }" : "), }");
  const size_t unpadded = kPreambleBytes + dictionary.size() + 1;
  dictionary.append((kAlignment - unpadded % kAlignment) % kAlignment, ' ');
  dictionary.push_back('\n');
  std::string text("\x93NUMPY\x01\x00", 8);
  text.push_back(static_cast<char>(dictionary.size() & 0xff));
  text.push_back(static_cast<char>(dictionary.size() >> 8));
  return text + dictionary;
}

}  // namespace locus::client
