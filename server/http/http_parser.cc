// An assertion of Beast's parser fails in debug builds if the last chunk of a
// body arrives in several pieces, which the code after it handles.
#define BOOST_DISABLE_ASSERTS

#include "server/http/http_parser.h"

#include <boost/beast/http/basic_parser.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/field.hpp>
#include <limits>
#include <string>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/strip.h"

namespace locus::server {
namespace {

namespace http = boost::beast::http;
using BeastError = boost::beast::error_code;
using BeastView = boost::beast::string_view;

// Returns the path and the query of a target in origin form or absolute form.
bool SplitTarget(absl::string_view target, HttpRequest* request) {
  if (absl::ConsumePrefix(&target, "http://") ||
      absl::ConsumePrefix(&target, "https://")) {
    const size_t slash = target.find('/');
    if (slash == 0 || slash == absl::string_view::npos) return false;
    target.remove_prefix(slash);
  }
  if (!absl::StartsWith(target, "/")) return false;
  for (const char c : target) {
    if (!absl::ascii_isgraph(c)) return false;
  }
  const size_t question = target.find('?');
  request->path = std::string(target.substr(0, question));
  if (question != absl::string_view::npos) {
    request->query = std::string(target.substr(question + 1));
  }
  return true;
}

// Returns true if the request line ends with a well-formed version of HTTP.
bool NamesHttpVersion(absl::string_view head) {
  const absl::string_view line = head.substr(0, head.find('\r'));
  if (line.size() < 9) return false;
  absl::string_view version = line.substr(line.size() - 9);
  return absl::ConsumePrefix(&version, " HTTP/") &&
         absl::ascii_isdigit(version[0]) && version[1] == '.' &&
         absl::ascii_isdigit(version[2]);
}

bool IsDecimal(absl::string_view text) {
  for (const char c : text) {
    if (!absl::ascii_isdigit(c)) return false;
  }
  return !text.empty();
}

}  // namespace

HttpHeadScanner::Result HttpHeadScanner::Scan(absl::string_view bytes) {
  for (; scanned_ < bytes.size(); ++scanned_) {
    const char c = bytes[scanned_];
    if (c == '\r') {
      if (scanned_ + 1 == bytes.size()) return Result::kIncomplete;
      if (bytes[scanned_ + 1] != '\n') return Result::kMalformed;
      const bool is_empty_line = scanned_ == line_start_;
      ++scanned_;
      line_start_ = scanned_ + 1;
      if (!is_empty_line) continue;
      ++scanned_;
      return Result::kComplete;
    }
    const bool is_blank = c == ' ' || c == '\t';
    if (is_blank && scanned_ == line_start_) return Result::kMalformed;
    if (c != '\t' && absl::ascii_iscntrl(c)) return Result::kMalformed;
  }
  return Result::kIncomplete;
}

// Collects what Beast's parser finds.
class HttpRequestParser::BeastParser : public http::basic_parser<true> {
 public:
  BeastParser() {
    eager(true);
    // SetMaxBodyBytes() limits the body, HttpConnection the head.
    body_limit(std::numeric_limits<std::uint64_t>::max());
    header_limit(std::numeric_limits<std::uint32_t>::max());
  }

  // Returns 0, or the status code of the error response.
  int CheckHead() const {
    if (hosts > 1 || (hosts == 0 && !is_http10)) return 400;
    if (authorizations > 1 || lengths > 1 || encodings > 1) return 400;
    if (encodings == 1) {
      if (lengths != 0 || is_http10) return 400;
      if (!absl::EqualsIgnoreCase(request.Header("Transfer-Encoding"),
                                  "chunked")) {
        return 501;
      }
    }
    if (lengths == 1 && !IsDecimal(request.Header("Content-Length"))) {
      return 400;
    }
    return 0;
  }

  HttpRequest request;
  bool is_http10 = false;
  int hosts = 0;
  int authorizations = 0;
  int lengths = 0;
  int encodings = 0;
  size_t max_body_bytes = 0;

 private:
  void on_request_impl(http::verb, BeastView method, BeastView target,
                       int version, BeastError& error) override {
    request.method = std::string(method);
    is_http10 = version == 10;
    if (!SplitTarget({target.data(), target.size()}, &request)) {
      error = http::error::bad_target;
    }
  }
  void on_response_impl(int, BeastView, int, BeastError&) override {}
  void on_field_impl(http::field field, BeastView name, BeastView value,
                     BeastError&) override {
    // Fields after the body (trailers) are ignored.
    if (is_header_done()) return;
    hosts += field == http::field::host ? 1 : 0;
    authorizations += field == http::field::authorization ? 1 : 0;
    lengths += field == http::field::content_length ? 1 : 0;
    encodings += field == http::field::transfer_encoding ? 1 : 0;
    request.headers.emplace_back(std::string(name), std::string(value));
  }
  void on_header_impl(BeastError&) override {}
  void on_body_init_impl(const boost::optional<std::uint64_t>&,
                         BeastError&) override {}
  size_t Append(BeastView body, BeastError& error) {
    if (body.size() > max_body_bytes - request.body.size()) {
      error = http::error::body_limit;
      return 0;
    }
    request.body.append(body.data(), body.size());
    return body.size();
  }
  size_t on_body_impl(BeastView body, BeastError& error) override {
    return Append(body, error);
  }
  void on_chunk_header_impl(std::uint64_t size, BeastView,
                            BeastError& error) override {
    if (size > max_body_bytes - request.body.size()) {
      error = http::error::body_limit;
    }
  }
  size_t on_chunk_body_impl(std::uint64_t, BeastView body,
                            BeastError& error) override {
    return Append(body, error);
  }
  void on_finish_impl(BeastError&) override {}
};

HttpRequestParser::HttpRequestParser()
    : parser_(std::make_unique<BeastParser>()) {}
HttpRequestParser::~HttpRequestParser() = default;

int HttpRequestParser::ParseHead(absl::string_view head) {
  BeastError error;
  const size_t parsed =
      parser_->put(boost::asio::const_buffer(head.data(), head.size()), error);
  if (error == http::error::bad_version && NamesHttpVersion(head)) return 505;
  if (error || !parser_->is_header_done() || parsed != head.size()) return 400;
  return parser_->CheckHead();
}

HttpRequest& HttpRequestParser::request() { return parser_->request; }
bool HttpRequestParser::http10() const { return parser_->is_http10; }
bool HttpRequestParser::keep_alive() const { return parser_->keep_alive(); }
bool HttpRequestParser::has_body() const { return !parser_->is_done(); }

bool HttpRequestParser::expects_continue() const {
  return !parser_->is_http10 &&
         absl::EqualsIgnoreCase(parser_->request.Header("Expect"),
                                "100-continue");
}

bool HttpRequestParser::SetMaxBodyBytes(size_t bytes) {
  parser_->max_body_bytes = bytes;
  const auto length = parser_->content_length();
  return !length.has_value() || *length <= bytes;
}

HttpRequestParser::BodyResult HttpRequestParser::ParseBody(
    absl::string_view bytes) {
  BodyResult result;
  BeastError error;
  while (!parser_->is_done() && result.consumed_bytes < bytes.size()) {
    result.consumed_bytes += parser_->put(
        boost::asio::const_buffer(bytes.data() + result.consumed_bytes,
                                  bytes.size() - result.consumed_bytes),
        error);
    if (error == http::error::need_more) break;
    if (error) {
      result.error = error == http::error::body_limit ? 413 : 400;
      break;
    }
  }
  result.complete = parser_->is_done();
  return result;
}

}  // namespace locus::server
