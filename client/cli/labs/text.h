// Texts in the two languages of the course.
#pragma once

#include "absl/strings/string_view.h"

namespace locus::client {

enum class Language { kEnglish, kSpanish };

// A text in both languages. $0, $1, ... stand for arguments, as in
// absl::Substitute().
struct Text {
  const char* english;
  const char* spanish;

  const char* In(Language language) const {
    return language == Language::kSpanish ? spanish : english;
  }
};

}  // namespace locus::client
