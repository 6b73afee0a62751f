#include "server/http/http_response.h"

#include <ctime>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

namespace locus::server {
namespace {

absl::string_view ReasonPhrase(int status) {
  switch (status) {
    case 200:
      return "OK";
    case 204:
      return "No Content";
    case 304:
      return "Not Modified";
    case 400:
      return "Bad Request";
    case 401:
      return "Unauthorized";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 413:
      return "Content Too Large";
    case 415:
      return "Unsupported Media Type";
    case 417:
      return "Expectation Failed";
    case 429:
      return "Too Many Requests";
    case 431:
      return "Request Header Fields Too Large";
    case 500:
      return "Internal Server Error";
    case 501:
      return "Not Implemented";
    case 503:
      return "Service Unavailable";
    case 504:
      return "Gateway Timeout";
    case 505:
      return "HTTP Version Not Supported";
    default:
      return "";  // a reason phrase is optional
  }
}

// A token of RFC 9110, section 5.6.2.
bool IsHeaderName(absl::string_view text) {
  return !text.empty() && absl::c_all_of(text, [](char c) {
    return absl::ascii_isalnum(c) ||
           absl::StrContains("!#$%&'*+-.^_`|~", absl::string_view(&c, 1));
  });
}

bool IsHeaderValue(absl::string_view text) {
  return absl::c_all_of(
      text, [](char c) { return c == '\t' || !absl::ascii_iscntrl(c); });
}

// Returns the current time in the form of RFC 9110, section 5.6.7.
std::string HttpDate() {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  gmtime_r(&now, &utc);
  char text[64];
  const size_t length =
      std::strftime(text, sizeof(text), "%a, %d %b %Y %H:%M:%S GMT", &utc);
  return {text, length};
}

void AppendFraming(const HttpResponse& response, const HttpHeadOptions& options,
                   std::string* head) {
  if (!HttpStatusHasNoBody(response.status)) {
    if (options.framing == HttpFraming::kLength) {
      absl::StrAppend(head, "Content-Length: ", response.body.size(), "\r\n");
    } else if (options.framing == HttpFraming::kChunked) {
      absl::StrAppend(head, "Transfer-Encoding: chunked\r\n");
    }
  }
  if (!options.keep_alive) {
    absl::StrAppend(head, "Connection: close\r\n");
  } else if (options.http10) {
    absl::StrAppend(head, "Connection: keep-alive\r\n");
  }
}

}  // namespace

bool HttpStatusHasNoBody(int status) { return status == 204 || status == 304; }

std::optional<std::string> SerializeHttpHead(const HttpResponse& response,
                                             const HttpHeadOptions& options) {
  if (response.status < 200 || response.status > 599) return std::nullopt;
  if (!IsHeaderValue(response.content_type)) return std::nullopt;
  std::string head = absl::StrCat("HTTP/1.1 ", response.status, " ",
                                  ReasonPhrase(response.status),
                                  "\r\nDate: ", HttpDate(), "\r\n");
  if (!HttpStatusHasNoBody(response.status)) {
    absl::StrAppend(&head, "Content-Type: ", response.content_type, "\r\n");
  }
  for (const auto& [name, value] : response.headers) {
    if (!IsHeaderName(name) || !IsHeaderValue(value)) return std::nullopt;
    absl::StrAppend(&head, name, ": ", value, "\r\n");
  }
  AppendFraming(response, options, &head);
  absl::StrAppend(&head, "\r\n");
  return head;
}

HttpResponse HttpTextResponse(int status, absl::string_view text) {
  return {.status = status,
          .body = std::string(text),
          .headers = {{"Cache-Control", "no-store"}}};
}

}  // namespace locus::server
