// What callers write outside of messages: request ids, traces, tokens, paths,
// and the words of theirs that end up in log lines and errors.
#include <cstdint>
#include <string>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "nlohmann/json.hpp"
#include "server/config/address.h"
#include "server/net/authentication.h"
#include "server/rpc/call_metadata.h"
#include "server/http/http_request.h"
#include "server/observability/log.h"
#include "server/rpc/status.h"
#include "server/base/utf8.h"
#include "tests/fuzz/check.h"
#include "tests/fuzz/memory_file.h"

namespace locus::server {
namespace {

using fuzz::Check;

constexpr char kToken[] = "0123456789abcdef";

const Authenticator& OneToken() {
  static const Authenticator* const auth = [] {
    // Stays, since it is watched, and is still known when leaks are looked for.
    static const auto* const file =
        new fuzz::MemoryFile(kToken, sizeof(kToken) - 1);
    return Authenticator::Open(file->path(), {.health = true})->release();
  }();
  return *auth;
}

// Text that is shown as it is, byte after byte.
bool IsQuiet(absl::string_view text) {
  while (!text.empty()) {
    const size_t length = Utf8Length(text);
    if (length == 0 || IsDeceptive(CodePointOf(text.substr(0, length)))) {
      return false;
    }
    text.remove_prefix(length);
  }
  return true;
}

bool IsVisible(absl::string_view text) {
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

void TryLog(absl::string_view text) {
  const std::string line = LogLine("info", "call").Add("error", text).Finish();
  Check(line.back() == '\n', "a log line ends");
  const absl::string_view body(line.data(), line.size() - 1);
  Check(IsQuiet(body) && IsUtf8(body), "a log line is one line of text", line);
  const auto parsed = nlohmann::json::parse(body.begin(), body.end(), nullptr,
                                            /*allow_exceptions=*/false);
  Check(parsed.is_object() && parsed.size() == 4 && parsed["level"] == "info",
        "a log line is one object with our keys", line);
  if (IsUtf8(text)) {
    Check(parsed["error"].get<std::string>() == text,
          "a log line says what was said", line);
  }
}

void TryTokens(absl::string_view text) {
  const AuthVerdict verdict = OneToken().CheckCall("/locus.v1.X/Y", text);
  const bool has_token = text.find(kToken) != absl::string_view::npos;
  Check(verdict != AuthVerdict::kAllowed || has_token,
        "nobody gets in without the token");
  if (OneToken().CheckCall(text, "") == AuthVerdict::kAllowed) {
    Check(text.substr(0, 23) == "/grpc.health.v1.Health/",
          "only health is exempt");
  }
  const auto tokens = ParseTokens(text);
  Check(!tokens.ok() || !tokens->empty(), "there is no empty list of tokens");
  (void)ParseAuthExemptions(text);
}

void TryHttp(absl::string_view text) {
  const size_t length = HttpHeadLength(text);
  if (length == absl::string_view::npos) {
    Check(!ParseHttpHead(text).has_value(), "a request has an end");
    return;
  }
  Check(length >= 4 && length <= text.size(), "a head ends within the bytes");
  const auto request = ParseHttpHead(text.substr(0, length));
  if (!request.has_value()) return;
  Check(IsVisible(request->method) && request->path[0] == '/' &&
            request->path.find_first_of(" ?\r\n") == std::string::npos,
        "a request has a method and a path");
}

void Try(absl::string_view text) {
  if (IsTraceparent(text)) {
    Check(text.size() == 55 && IsQuiet(text) && text[2] == '-',
          "a traceparent is one");
  }
  if (IsRequestId(text)) {
    Check(!text.empty() && text.size() <= 128 && IsQuiet(text) && IsUtf8(text),
          "a request id can be sent back");
  }
  const std::string printable = Printable(text, 200);
  Check(IsQuiet(printable) && IsUtf8(printable) && printable.size() < 1024,
        "what is printed can be", printable);
  TryHttp(text);
  (void)ParseAddress(text);
  (void)IsLocalAddress(text);
  TryLog(text);
  TryTokens(text);
}

}  // namespace
}  // namespace locus::server

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  locus::server::Try({reinterpret_cast<const char*>(data), size});
  return 0;
}
