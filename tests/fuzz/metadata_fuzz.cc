// Fuzzes everything that clients send outside of messages: request ids, trace
// contexts, tokens and HTTP requests, and their escaping in log lines and
// errors. Flag values such as addresses are parsed as well.
#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "nlohmann/json.hpp"
#include "server/base/printable.h"
#include "server/base/utf8.h"
#include "server/config/address.h"
#include "server/config/auth_exemptions.h"
#include "server/http/http_parser.h"
#include "server/net/authentication.h"
#include "server/observability/log.h"
#include "server/rpc/call_metadata.h"
#include "tests/fuzz/check.h"
#include "tests/fuzz/memory_file.h"

namespace locus::server {
namespace {

using fuzz::Check;

constexpr char kToken[] = "0123456789abcdef";

// An authenticator that accepts kToken, and exempts health checks.
const Authenticator& TestAuthenticator() {
  static const Authenticator* const auth = [] {
    // The authenticator watches the file for the rest of the process. The
    // static pointer keeps it reachable for the leak checker.
    static const auto* const file =
        new fuzz::MemoryFile(kToken, sizeof(kToken) - 1);
    return Authenticator::Open(file->path(), {.health = true})->release();
  }();
  return *auth;
}

// Whether a text is valid UTF-8 without control or other deceptive characters.
bool IsPrintable(absl::string_view text) {
  while (!text.empty()) {
    const size_t length = Utf8Length(text);
    if (length == 0 || IsDeceptive(CodePointOf(text.substr(0, length)))) {
      return false;
    }
    text.remove_prefix(length);
  }
  return true;
}

bool IsVisibleAscii(absl::string_view text) {
  return !text.empty() && absl::c_all_of(text, absl::ascii_isgraph);
}

bool IsUtf8(absl::string_view text) {
  while (!text.empty()) {
    const size_t length = Utf8Length(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

void CheckLogLine(absl::string_view text) {
  const std::string line = LogLine("info", "call").Add("error", text).Finish();
  Check(line.back() == '\n', "a log line ends with a newline");
  const absl::string_view body(line.data(), line.size() - 1);
  Check(IsPrintable(body), "a log line is printable", line);
  const auto parsed = nlohmann::json::parse(body.begin(), body.end(), nullptr,
                                            /*allow_exceptions=*/false);
  Check(parsed.is_object() && parsed.size() == 4 && parsed["level"] == "info",
        "a log line is an object with the expected keys", line);
  if (IsUtf8(text)) {
    Check(parsed["error"].get<std::string>() == text,
          "a log line preserves valid text", line);
  }
}

void CheckTokens(absl::string_view text) {
  const AuthVerdict verdict =
      TestAuthenticator().CheckCall("/locus.v1.X/Y", text);
  const bool has_token = text.find(kToken) != absl::string_view::npos;
  Check(verdict != AuthVerdict::kAllowed || has_token,
        "no call is allowed without the token");
  if (TestAuthenticator().CheckCall(text, "") == AuthVerdict::kAllowed) {
    Check(text.substr(0, 23) == "/grpc.health.v1.Health/",
          "only health checks are exempt");
  }
  const auto tokens = ParseTokens(text);
  Check(!tokens.ok() || !tokens->empty(),
        "a valid list of tokens is not empty");
  (void)ParseAuthExemptions(text);
}

// Parses a request whose head ends at `head_length`, and returns its body.
// `piece_bytes` is the number of bytes that arrive at once. Returns nullopt if
// the request is malformed or incomplete.
std::optional<std::string> ParseHttpBody(absl::string_view text,
                                         size_t head_length,
                                         size_t piece_bytes) {
  HttpRequestParser parser;
  if (parser.ParseHead(text.substr(0, head_length)) != 0) return std::nullopt;
  if (!parser.SetMaxBodyBytes(text.size())) return std::nullopt;
  size_t consumed = head_length;
  for (size_t end = head_length; parser.has_body() && end < text.size();) {
    end = std::min(text.size(), end + piece_bytes);
    const auto result = parser.ParseBody(text.substr(consumed, end - consumed));
    if (result.error != 0) return std::nullopt;
    consumed += result.consumed_bytes;
    Check(consumed <= end, "the parser consumes what it has");
  }
  if (parser.has_body()) return std::nullopt;
  const HttpRequest& request = parser.request();
  Check(IsVisibleAscii(request.method) && request.path[0] == '/' &&
            request.path.find_first_of(" ?\r\n") == std::string::npos,
        "a parsed request has a method and a path");
  return request.body;
}

void CheckHttpRequest(absl::string_view text) {
  HttpHeadScanner scanner;
  const HttpHeadScanner::Result result = scanner.Scan(text);
  HttpHeadScanner bytewise;
  auto result_of_pieces = HttpHeadScanner::Result::kIncomplete;
  for (size_t end = 0; end <= text.size(); ++end) {
    result_of_pieces = bytewise.Scan(text.substr(0, end));
    if (result_of_pieces != HttpHeadScanner::Result::kIncomplete) break;
  }
  Check(result == result_of_pieces, "pieces do not change the result");
  if (result != HttpHeadScanner::Result::kComplete) return;
  Check(
      scanner.length() == bytewise.length() && scanner.length() <= text.size(),
      "the head ends within the text");
  Check(ParseHttpBody(text, scanner.length(), text.size()) ==
            ParseHttpBody(text, scanner.length(), 1),
        "pieces do not change the body");
}

void CheckAll(absl::string_view text) {
  if (IsTraceparent(text)) {
    Check(text.size() == 55 && IsPrintable(text) && text[2] == '-',
          "a traceparent has the form of W3C Trace Context");
  }
  if (IsRequestId(text)) {
    Check(!text.empty() && text.size() <= 128 && IsPrintable(text),
          "a request id is short and printable");
  }
  const std::string printable = Printable(text, 200);
  Check(IsPrintable(printable) && printable.size() < 1024,
        "Printable() returns short, printable text", printable);
  CheckHttpRequest(text);
  (void)ParseAddress(text);
  (void)IsLocalAddress(text);
  CheckLogLine(text);
  CheckTokens(text);
}

}  // namespace
}  // namespace locus::server

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  locus::server::CheckAll({reinterpret_cast<const char*>(data), size});
  return 0;
}
