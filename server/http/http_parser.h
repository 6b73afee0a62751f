// Parsing of HTTP requests, with Boost.Beast.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "absl/strings/string_view.h"
#include "server/http/http_message.h"

namespace locus::server {

// Searches for the end of a request head in bytes that arrive in pieces, and
// checks the bytes on the way.
class HttpHeadScanner {
 public:
  enum class Result { kIncomplete, kComplete, kMalformed };

  // Scans `bytes`, which begin with the bytes of the previous call. Malformed
  // are control characters, line ends other than CRLF, and lines that begin
  // with white space (obs-fold).
  Result Scan(absl::string_view bytes);
  // The length of a complete head, including its empty line.
  size_t length() const { return scanned_; }

 private:
  size_t scanned_ = 0;
  size_t line_start_ = 0;
};

// Parses one request. Beast's parser is lenient in places; this one also
// rejects everything about the framing of a request that RFC 9112 lets a server
// reject, so that no proxy in front of it can understand a request differently
// (request smuggling).
class HttpRequestParser {
 public:
  HttpRequestParser();
  ~HttpRequestParser();
  HttpRequestParser(const HttpRequestParser&) = delete;
  HttpRequestParser& operator=(const HttpRequestParser&) = delete;

  // Parses a complete head, which HttpHeadScanner has accepted. Returns 0, or
  // the status code of the error response.
  int ParseHead(absl::string_view head);

  // The following functions need a parsed head.
  HttpRequest& request();
  bool http10() const;
  // Whether the client allows further requests on the connection.
  bool keep_alive() const;
  // Whether the client waits for "100 Continue" before it sends the body.
  bool expects_continue() const;
  bool has_body() const;
  // Sets the max size of the body. Returns false if the request already says
  // that its body is larger.
  bool SetMaxBodyBytes(size_t bytes);

  struct BodyResult {
    size_t consumed_bytes = 0;
    bool complete = false;
    // Status code of the error response; 0 if there is no error.
    int error = 0;
  };
  // Parses a part of the body and appends its content to request().body. Bytes
  // that are not consumed must be passed again, together with further ones.
  BodyResult ParseBody(absl::string_view bytes);

 private:
  class BeastParser;
  const std::unique_ptr<BeastParser> parser_;
};

}  // namespace locus::server
