#include "server/http/http_server.h"

#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/config/address.h"
#include "server/http/http_loop.h"

namespace locus::server {
namespace {

struct Reply {
  int code;
  const char* reason;
  std::string body;
  const char* content_type = "text/plain; charset=utf-8";
};

// `metrics` makes the text, if it is asked for.
Reply Answer(const HttpContent& content,
             const std::optional<HttpRequest>& request,
             const std::function<const std::string&()>& metrics) {
  if (!request.has_value()) {
    return {400, "Bad Request", "no request that can be read\n"};
  }
  const bool is_metrics = request->path == "/metrics";
  const bool is_ready = request->path == "/readyz";
  if (!is_metrics && !is_ready && request->path != "/healthz") {
    return {404, "Not Found", "see /metrics, /healthz and /readyz\n"};
  }
  if (request->method != "GET" && request->method != "HEAD") {
    return {405, "Method Not Allowed", "only GET\n"};
  }
  if (is_metrics && content.auth != nullptr &&
      content.auth->CheckMetrics(request->authorization) !=
          AuthVerdict::kAllowed) {
    return {401, "Unauthorized", "a valid bearer token is needed\n"};
  }
  if (is_metrics) {
    return {200, "OK", metrics(), "text/plain; version=0.0.4; charset=utf-8"};
  }
  if (is_ready && !content.is_ready()) {
    return {503, "Service Unavailable", "draining\n"};
  }
  return {200, "OK", "ok\n"};
}

std::string Written(const Reply& reply, bool with_body) {
  return absl::StrCat("HTTP/1.1 ", reply.code, " ", reply.reason,
                      "\r\nContent-Type: ", reply.content_type,
                      "\r\nContent-Length: ", reply.body.size(),
                      reply.code == 401 ? "\r\nWWW-Authenticate: Bearer" : "",
                      reply.code == 405 ? "\r\nAllow: GET, HEAD" : "",
                      "\r\nCache-Control: no-store\r\nConnection: close\r\n",
                      "\r\n", with_body ? reply.body : "");
}

// The metrics are the costly part, and the same for all who ask together.
std::vector<std::string> AnswerAll(
    const HttpContent& content,
    const std::vector<std::optional<HttpRequest>>& requests) {
  std::optional<std::string> text;
  const auto metrics = [&]() -> const std::string& {
    if (!text.has_value()) text = content.metrics();
    return *text;
  };
  std::vector<std::string> replies;
  for (const auto& request : requests) {
    const bool is_head = request.has_value() && request->method == "HEAD";
    replies.push_back(Written(Answer(content, request, metrics), !is_head));
  }
  return replies;
}

}  // namespace

HttpServer::HttpServer(HttpContent content) : content_(std::move(content)) {}
HttpServer::~HttpServer() = default;

int HttpServer::port() const { return loop_->port(); }

absl::StatusOr<std::unique_ptr<HttpServer>> HttpServer::Start(
    absl::string_view address, HttpContent content) {
  const auto parsed = ParseAddress(address);
  if (!parsed.ok()) return parsed.status();
  std::unique_ptr<HttpServer> server(new HttpServer(std::move(content)));
  auto loop = HttpLoop::Start(
      address, [&content = server->content_](const auto& requests) {
        return AnswerAll(content, requests);
      });
  if (!loop.ok()) return loop.status();
  server->loop_ = *std::move(loop);
  return server;
}

}  // namespace locus::server
