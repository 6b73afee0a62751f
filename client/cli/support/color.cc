#include "client/cli/support/color.h"

#include <unistd.h>

#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/base/printable.h"
#include "client/cli/support/cli_errors.h"
#include "client/plot/color_map.h"

namespace locus::client {
namespace {

constexpr char kReset[] = "\x1b[0m";

bool output_has_color = false;
bool error_has_color = false;

absl::string_view Variable(const char* name) {
  const char* const value = std::getenv(name);
  return value != nullptr ? value : "";
}

// Whether the environment allows colour on a terminal (https://no-color.org).
bool EnvironmentAllowsColor() {
  return Variable("NO_COLOR").empty() && Variable("TERM") != "dumb";
}

std::string Styled(const char* code, absl::string_view text) {
  if (!output_has_color || text.empty()) return std::string(text);
  return absl::StrCat("\x1b[", code, "m", text, kReset);
}

// The index of the nearest colour of the 6 x 6 x 6 cube of xterm's palette.
int PaletteIndex(plot::Rgb color) {
  const auto level = [](int value) { return (value * 5 + 127) / 255; };
  return 16 + 36 * level(color.red) + 6 * level(color.green) +
         level(color.blue);
}

}  // namespace

absl::Status SetColor(absl::string_view when) {
  if (when != "auto" && when != "always" && when != "never") {
    return UsageError(absl::StrCat("--color: is \"", when,
                                   "\"; must be auto, always or never"));
  }
  const bool allowed = when == "auto" && EnvironmentAllowsColor();
  output_has_color =
      when == "always" || (allowed && isatty(STDOUT_FILENO) != 0);
  error_has_color = when == "always" || (allowed && isatty(STDERR_FILENO) != 0);
  return absl::OkStatus();
}

bool OutputHasColor() { return output_has_color; }
bool ErrorHasColor() { return error_has_color; }

std::string Bold(absl::string_view text) { return Styled("1", text); }
std::string Dim(absl::string_view text) { return Styled("2", text); }
std::string Good(absl::string_view text) { return Styled("32", text); }
std::string Bad(absl::string_view text) { return Styled("1;31", text); }
std::string Caution(absl::string_view text) { return Styled("33", text); }

std::string ErrorPrefix() {
  if (!error_has_color) return "locus:";
  return absl::StrCat("\x1b[1;31mlocus:", kReset);
}

std::string OnBackground(plot::Rgb color, absl::string_view text) {
  if (!output_has_color) return std::string(text);
  const bool is_dark_text = plot::ReadableOn(color).red < 128;
  const int foreground = is_dark_text ? 16 : 231;  // black, white
  const bool has_24_bits =
      Variable("COLORTERM") == "truecolor" || Variable("COLORTERM") == "24bit";
  const std::string background =
      has_24_bits
          ? absl::StrFormat("48;2;%d;%d;%d", color.red, color.green, color.blue)
          : absl::StrCat("48;5;", PaletteIndex(color));
  return absl::StrCat("\x1b[38;5;", foreground, ";", background, "m", text,
                      kReset);
}

std::string PrintableWithColor(absl::string_view text) {
  std::string result;
  while (!text.empty()) {
    const size_t escape = text.find("\x1b[");
    if (escape == text.npos) break;
    const size_t end = text.find_first_not_of("0123456789;", escape + 2);
    const bool is_color = end != text.npos && text[end] == 'm';
    const size_t plain = is_color ? escape : escape + 2;
    absl::StrAppend(&result, Printable(text.substr(0, plain)));
    if (is_color) {
      absl::StrAppend(&result, text.substr(escape, end + 1 - escape));
    }
    text.remove_prefix(is_color ? end + 1 : plain);
  }
  return absl::StrCat(result, Printable(text));
}

}  // namespace locus::client
