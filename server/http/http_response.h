// Serialization of the heads of HTTP responses.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "server/http/http_message.h"

namespace locus::server {

// How the client finds the end of a response.
enum class HttpFraming { kLength, kChunked, kClose };

struct HttpHeadOptions {
  HttpFraming framing = HttpFraming::kLength;
  // Whether further requests may follow on the connection.
  bool keep_alive = false;
  // Whether the request was of HTTP/1.0, where keep-alive is not the default.
  bool http10 = false;
};

// Returns true for status codes whose responses never have a body.
bool HttpStatusHasNoBody(int status);

// Returns the head of a response, including its empty line. Returns nullopt if
// the status or a header is invalid. A header with a control character is
// invalid, so values from requests cannot add headers (response splitting).
std::optional<std::string> SerializeHttpHead(const HttpResponse& response,
                                             const HttpHeadOptions& options);

// Returns a response of plain text.
HttpResponse HttpTextResponse(int status, absl::string_view text);

}  // namespace locus::server
