#include "client/cli/render/property_table.h"

#include <algorithm>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "client/base/printable.h"
#include "client/cli/support/color.h"
#include "client/cli/support/text_layout.h"

namespace locus::client {
namespace {

bool IsBroken(const v1::PropertyResult& result) {
  return !result.as_promised() &&
         result.promise() != v1::PROMISE_ANSWER_UNSPECIFIED;
}

std::string ThreeDigits(double value) { return absl::StrFormat("%.3g", value); }

// The verdict in words, with the declaration if it explains the verdict.
std::string VerdictText(const v1::PropertyResult& result) {
  switch (result.verdict()) {
    case v1::PROPERTY_VERDICT_HOLDS:
      return IsBroken(result) ? "holds, but is declared not to" : "holds";
    case v1::PROPERTY_VERDICT_FAILS:
      return IsBroken(result) ? "does not hold, but is promised"
                              : "does not hold (not promised)";
    case v1::PROPERTY_VERDICT_NOT_APPLICABLE:
      return IsBroken(result) ? "not defined, but is promised" : "not defined";
    default:
      return "unknown";
  }
}

std::string Numbers(const v1::PropertyResult& result) {
  if (result.verdict() == v1::PROPERTY_VERDICT_NOT_APPLICABLE) return "";
  return absl::StrCat("measured ", ThreeDigits(result.measured()), ", allowed ",
                      ThreeDigits(result.tolerance()));
}

// The mark of a cell of the matrix.
std::string Mark(const v1::PropertyResult& result) {
  if (IsBroken(result)) return Bad("\u2717");
  switch (result.verdict()) {
    case v1::PROPERTY_VERDICT_HOLDS:
      return Good("\u2713");
    case v1::PROPERTY_VERDICT_FAILS:
      return Dim("\u2013");
    default:
      return "";
  }
}

// The names of all properties, in the order in which they first appear.
std::vector<std::string> PropertiesIn(
    const v1::CheckPropertiesResponse& response) {
  std::vector<std::string> names;
  for (const v1::SchemeProperties& scheme : response.results()) {
    for (const v1::PropertyResult& result : scheme.properties()) {
      if (!absl::c_linear_search(names, result.property())) {
        names.push_back(result.property());
      }
    }
  }
  return names;
}

// Cuts a word of a column head, with a dot for the part that is left out.
std::string Abbreviated(const std::string& word, int width) {
  if (DisplayWidth(word) <= width) return word;
  return absl::StrCat(PrefixOfWidth(word, width - 1), ".");
}

// The matrix of schemes and properties.
class PropertyMatrix {
 public:
  PropertyMatrix(const v1::CheckPropertiesResponse& response, int width)
      : response_(response), properties_(PropertiesIn(response)) {
    for (const v1::SchemeProperties& scheme : response.results()) {
      label_width_ = std::max(
          label_width_, DisplayWidth(PrintableLine(scheme.scheme_name())));
    }
    label_width_ = std::min(label_width_, width / 3) + 2;
    // Columns of equal width, in as few blocks as possible.
    const int space = width - label_width_;
    const int count = static_cast<int>(properties_.size());
    int blocks = 0;
    do {
      ++blocks;
      block_size_ = (count + blocks - 1) / blocks;
      column_width_ = std::min(space / std::max(block_size_, 1), kMaxColumn);
    } while (column_width_ < kMinColumn && block_size_ > 1);
  }

  std::string Format() const {
    std::string text;
    const int count = static_cast<int>(properties_.size());
    for (int begin = 0; begin < count; begin += block_size_) {
      absl::StrAppend(&text, begin == 0 ? "" : "\n",
                      FormatBlock(begin, std::min(begin + block_size_, count)));
    }
    return text;
  }

 private:
  static constexpr int kMinColumn = 7;
  static constexpr int kMaxColumn = 15;

  std::string FormatBlock(int begin, int end) const {
    std::string text = FormatHead(begin, end);
    bool is_naive = false;
    for (const v1::SchemeProperties& scheme : response_.results()) {
      if (scheme.naive() && !is_naive) {
        absl::StrAppend(&text, Dim("naive encodings, for comparison:"), "\n");
      }
      is_naive = scheme.naive();
      std::vector<std::string> cells;
      for (int i = begin; i < end; ++i) {
        cells.push_back(MarkOf(scheme, properties_[i]));
      }
      absl::StrAppend(&text, FormatLine(scheme.scheme_name(), cells));
    }
    return text;
  }

  // The head of a column is a line for each word of the name.
  std::string FormatHead(int begin, int end) const {
    std::string text;
    for (size_t line = 0;; ++line) {
      std::vector<std::string> cells;
      bool has_words = false;
      for (int i = begin; i < end; ++i) {
        const std::vector<std::string> words =
            absl::StrSplit(PrintableLine(properties_[i]), '_');
        has_words |= line < words.size();
        cells.push_back(line < words.size()
                            ? Bold(Abbreviated(words[line], column_width_ - 1))
                            : "");
      }
      if (!has_words) return text;
      absl::StrAppend(&text, FormatLine("", cells));
    }
  }

  std::string FormatLine(const std::string& label,
                         const std::vector<std::string>& cells) const {
    std::string line = PadRight(
        Abbreviated(PrintableLine(label), label_width_ - 2), label_width_);
    for (const std::string& cell : cells) line += PadRight(cell, column_width_);
    return absl::StrCat(absl::StripTrailingAsciiWhitespace(line), "\n");
  }

  static std::string MarkOf(const v1::SchemeProperties& scheme,
                            const std::string& property) {
    for (const v1::PropertyResult& result : scheme.properties()) {
      if (result.property() == property) return Mark(result);
    }
    return "";
  }

  const v1::CheckPropertiesResponse& response_;
  const std::vector<std::string> properties_;
  // Including the space after them.
  int label_width_ = 0;
  int column_width_ = 0;
  // The number of columns of a block.
  int block_size_ = 1;
};

std::string Legend(const PropertyTableOptions& options) {
  return absl::StrCat(
      "\n",
      WrapParagraph(
          absl::StrCat(Good("\u2713"), " holds as promised, ", Dim("\u2013"),
                       " does not hold (not promised), ", Bad("\u2717"),
                       " broken promise, blank: not defined for the scheme.",
                       options.details ? "" : " --details shows the numbers."),
          options.width));
}

std::string FormatDetails(const v1::CheckPropertiesResponse& response,
                          int width) {
  std::string text;
  for (const v1::SchemeProperties& scheme : response.results()) {
    absl::StrAppend(&text, "\n", Bold(PrintableLine(scheme.scheme_name())),
                    scheme.naive() ? " (naive encoding)" : "", "\n");
    for (const v1::PropertyResult& result : scheme.properties()) {
      const std::string numbers = Numbers(result);
      text += WrapParagraph(absl::StrCat(PrintableLine(result.property()), ": ",
                                         VerdictText(result),
                                         numbers.empty() ? "" : "; ", numbers),
                            width, 2);
      if (result.worked_case().empty()) continue;
      text += WrapParagraph(PrintableLine(result.worked_case()), width, 4);
    }
  }
  return text;
}

std::string FormatBroken(const v1::CheckPropertiesResponse& response,
                         int width) {
  std::string broken;
  int broken_count = 0;
  int count = 0;
  for (const v1::SchemeProperties& scheme : response.results()) {
    for (const v1::PropertyResult& result : scheme.properties()) {
      if (result.promise() == v1::PROMISE_ANSWER_UNSPECIFIED) continue;
      ++count;
      if (!IsBroken(result)) continue;
      ++broken_count;
      const std::string numbers = Numbers(result);
      broken +=
          WrapParagraph(absl::StrCat(PrintableLine(scheme.scheme_name()), ", ",
                                     PrintableLine(result.property()), ": ",
                                     VerdictText(result),
                                     numbers.empty() ? "" : "; ", numbers),
                        width, 2);
    }
  }
  if (count == 0) return "";
  if (broken_count == 0) {
    return absl::StrCat(
        "\n", Good(absl::StrCat("All ", count, " verdicts are as promised.")),
        "\n");
  }
  return absl::StrCat("\n",
                      Bad(absl::StrCat(broken_count, " of ", count,
                                       " verdicts break a promise:")),
                      "\n", broken);
}

}  // namespace

int BrokenPromises(const v1::CheckPropertiesResponse& response) {
  int count = 0;
  for (const v1::SchemeProperties& scheme : response.results()) {
    for (const v1::PropertyResult& result : scheme.properties()) {
      count += static_cast<int>(IsBroken(result));
    }
  }
  return count;
}

std::string FormatProperties(const v1::CheckPropertiesResponse& response,
                             const PropertyTableOptions& options) {
  std::string text = absl::StrCat(
      PropertyMatrix(response, options.width).Format(), Legend(options));
  if (options.details) text += FormatDetails(response, options.width);
  return text + FormatBroken(response, options.width);
}

}  // namespace locus::client
