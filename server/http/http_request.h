// Parsing of HTTP requests.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"

namespace locus::server {

// The parts of a request that the server uses.
struct HttpRequest {
  std::string method;
  // Begins with a slash. Without the query.
  std::string path;
  // Value of the Authorization header; empty if there is none.
  std::string authorization;
};

// Returns the length of the request head at the start of `bytes`, including its
// empty line, or npos if the head is incomplete.
size_t HttpHeadLength(absl::string_view bytes);

// Parses a complete request head, including its empty line. Follows RFC 9112
// strictly: lines end with CRLF, folded headers are malformed, and so is a
// repeated Authorization header. Returns nullopt if the head is malformed.
std::optional<HttpRequest> ParseHttpHead(absl::string_view head);

}  // namespace locus::server
