#include "server/http/http_request.h"

#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_split.h"

namespace locus::server {
namespace {

constexpr absl::string_view kLineEnd = "\r\n";
constexpr absl::string_view kHeadEnd = "\r\n\r\n";

// A token of RFC 9110, section 5.6.2.
bool IsHttpToken(absl::string_view text) {
  return !text.empty() && absl::c_all_of(text, [](char c) {
    return absl::ascii_isalnum(c) ||
           absl::StrContains("!#$%&'*+-.^_`|~", absl::string_view(&c, 1));
  });
}

// Returns true if a line has no control characters other than tabs.
bool IsPrintableLine(absl::string_view text) {
  return absl::c_all_of(
      text, [](char c) { return c == '\t' || !absl::ascii_iscntrl(c); });
}

bool ParseRequestLine(absl::string_view line, HttpRequest* request) {
  const std::vector<absl::string_view> parts = absl::StrSplit(line, ' ');
  if (parts.size() != 3 || !IsHttpToken(parts[0])) return false;
  if (!absl::StartsWith(parts[1], "/")) return false;
  if (parts[2] != "HTTP/1.1" && parts[2] != "HTTP/1.0") return false;
  request->method = std::string(parts[0]);
  request->path = std::string(parts[1].substr(0, parts[1].find('?')));
  return true;
}

bool ParseHeader(absl::string_view line, HttpRequest* request) {
  const size_t colon = line.find(':');
  if (colon == absl::string_view::npos || !IsHttpToken(line.substr(0, colon))) {
    return false;
  }
  if (!absl::EqualsIgnoreCase(line.substr(0, colon), "authorization")) {
    return true;
  }
  if (!request->authorization.empty()) return false;
  request->authorization =
      std::string(absl::StripAsciiWhitespace(line.substr(colon + 1)));
  return true;
}

}  // namespace

size_t HttpHeadLength(absl::string_view bytes) {
  const size_t end = bytes.find(kHeadEnd);
  return end == absl::string_view::npos ? end : end + kHeadEnd.size();
}

std::optional<HttpRequest> ParseHttpHead(absl::string_view head) {
  if (!absl::EndsWith(head, kHeadEnd)) return std::nullopt;
  head.remove_suffix(kHeadEnd.size());
  const std::vector<absl::string_view> lines = absl::StrSplit(head, kLineEnd);
  HttpRequest request;
  for (size_t i = 0; i < lines.size(); ++i) {
    const bool valid = IsPrintableLine(lines[i]) &&
                       (i == 0 ? ParseRequestLine(lines[i], &request)
                               : ParseHeader(lines[i], &request));
    if (!valid) return std::nullopt;
  }
  return request;
}

}  // namespace locus::server
