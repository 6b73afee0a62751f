// Colour and emphasis on terminals.
//
// Standard output and standard error have colour if they are terminals, unless
// --color or the variables NO_COLOR and TERM=dumb say otherwise. Without colour
// all functions return their text unchanged, so that callers need not ask.
//
// The text passed to these functions is not escaped: pass text from servers and
// files through PrintableLine() first.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "client/plot/scene.h"

namespace locus::client {

// Selects when to use colour: "auto", "always" or "never". Nothing has colour
// until this function is called, so that unit tests need not switch it off. Not
// thread-safe; call it before any output.
absl::Status SetColor(absl::string_view when);

// Whether standard output or standard error has colour.
bool OutputHasColor();
bool ErrorHasColor();

// Styles of text on standard output.
std::string Bold(absl::string_view text);
std::string Dim(absl::string_view text);
// Green: a promise kept, a result better than another.
std::string Good(absl::string_view text);
// Red: a broken promise, a failure, a result worse than another.
std::string Bad(absl::string_view text);
// Yellow: a warning, a result that needs attention.
std::string Caution(absl::string_view text);

// "locus:" in bold red if standard error has colour.
std::string ErrorPrefix();

// Text on a coloured background, in black or white, whichever has more
// contrast. Uses 24-bit colour if COLORTERM announces it, and the nearest of
// 256 colours otherwise.
std::string OnBackground(plot::Rgb color, absl::string_view text);

// Escapes all control characters of `text` as Printable() does, but keeps
// colour sequences (ESC [ ... m). Use it only for text whose untrusted parts
// have been escaped.
std::string PrintableWithColor(absl::string_view text);

}  // namespace locus::client
