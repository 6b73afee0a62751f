// Numbers and paragraphs in the text output of commands.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace locus::client {

// A number with four significant digits. Numbers from 1000 to below 10^10 are
// rounded to integers instead of using an exponent; "-" stands for infinity.
std::string ShortText(double value);

// A number of tokens. An integer, unless it has more than 15 digits.
std::string TokenCountText(double length);

// Increasing indices, with runs shortened: "3", "3 to 7" or "0, 3 to 7".
std::string SpanText(const std::vector<int64_t>& indices);

// The number of characters of a UTF-8 string.
size_t CharacterCount(absl::string_view text);

// Text with line breaks between words, so that no line is longer than `width`
// characters unless a single word is. All lines but the first are indented.
// Ends with a newline.
std::string Paragraph(absl::string_view text, size_t indent = 0,
                      size_t width = 80);

// A verdict: the first sentence as a paragraph, the others as a list below it.
std::string SentenceList(const std::vector<std::string>& sentences);

}  // namespace locus::client
