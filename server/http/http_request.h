// What clients of the HTTP port ask.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"

namespace locus::server {

struct HttpRequest {
  std::string method;
  // Begins with a slash; without what follows a question mark.
  std::string path;
  // That header's value; empty: there is none.
  std::string authorization;
};

// Where the head of a request ends, its empty line included; npos if more has
// to come.
size_t HttpHeadLength(absl::string_view bytes);

// A head up to and with its empty line, by RFC 9112 and no more lenient than
// that: lines end in CRLF, nothing is folded, nothing decides who may read and
// stands there twice. Nothing if it is none.
std::optional<HttpRequest> ParseHttpHead(absl::string_view head);

}  // namespace locus::server
