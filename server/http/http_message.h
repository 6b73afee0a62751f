// Requests and responses of the HTTP server.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/string_view.h"

namespace locus::server {

using HttpHeaders = std::vector<std::pair<std::string, std::string>>;

// A request whose syntax and framing follow RFC 9112.
struct HttpRequest {
  std::string method;
  // Begins with a slash. Without the query. Neither decoded nor normalized.
  std::string path;
  // The part of the target after the question mark.
  std::string query;
  HttpHeaders headers;
  std::string body;

  // Returns the value of the first header of this name, empty if there is none.
  // Names are case-insensitive. Host, Authorization, Content-Length and
  // Transfer-Encoding occur at most once.
  absl::string_view Header(absl::string_view name) const {
    for (const auto& [key, value] : headers) {
      if (absl::EqualsIgnoreCase(key, name)) return value;
    }
    return "";
  }
};

// A response. The server adds the headers that frame it: Content-Length or
// Transfer-Encoding, Connection and Date.
struct HttpResponse {
  int status = 200;
  std::string content_type = "text/plain; charset=utf-8";
  std::string body;
  HttpHeaders headers;
};

}  // namespace locus::server
