#include "server/http/http_server.h"

#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/config/address.h"
#include "server/http/http_loop.h"

namespace locus::server {
namespace {

struct HttpResponse {
  int code;
  const char* reason;
  std::string body;
  const char* content_type = "text/plain; charset=utf-8";
};

// Returns the response to one request. Calls `metrics` only for an authorized
// request for /metrics.
HttpResponse Respond(const HttpContent& content,
                     const std::optional<HttpRequest>& request,
                     const std::function<const std::string&()>& metrics) {
  if (!request.has_value()) {
    return {400, "Bad Request", "malformed request\n"};
  }
  const bool is_metrics = request->path == "/metrics";
  const bool is_ready = request->path == "/readyz";
  if (!is_metrics && !is_ready && request->path != "/healthz") {
    return {404, "Not Found", "not found; try /metrics, /healthz or /readyz\n"};
  }
  if (request->method != "GET" && request->method != "HEAD") {
    return {405, "Method Not Allowed", "use GET or HEAD\n"};
  }
  if (is_metrics && content.auth != nullptr &&
      content.auth->CheckMetrics(request->authorization) !=
          AuthVerdict::kAllowed) {
    return {401, "Unauthorized", "a valid bearer token is required\n"};
  }
  if (is_metrics) {
    return {200, "OK", metrics(), "text/plain; version=0.0.4; charset=utf-8"};
  }
  if (is_ready && !content.is_ready()) {
    return {503, "Service Unavailable", "draining\n"};
  }
  return {200, "OK", "ok\n"};
}

std::string Serialize(const HttpResponse& response, bool with_body) {
  return absl::StrCat(
      "HTTP/1.1 ", response.code, " ", response.reason,
      "\r\nContent-Type: ", response.content_type,
      "\r\nContent-Length: ", response.body.size(),
      response.code == 401 ? "\r\nWWW-Authenticate: Bearer" : "",
      response.code == 405 ? "\r\nAllow: GET, HEAD" : "",
      "\r\nCache-Control: no-store\r\nConnection: close\r\n", "\r\n",
      with_body ? response.body : "");
}

// Returns the responses to a batch of requests. Rendering the metrics is
// expensive, so all requests of the batch share one rendering.
std::vector<std::string> RespondToBatch(
    const HttpContent& content,
    const std::vector<std::optional<HttpRequest>>& requests) {
  std::optional<std::string> text;
  const auto metrics = [&]() -> const std::string& {
    if (!text.has_value()) text = content.metrics();
    return *text;
  };
  std::vector<std::string> responses;
  for (const auto& request : requests) {
    const bool is_head = request.has_value() && request->method == "HEAD";
    responses.push_back(
        Serialize(Respond(content, request, metrics), !is_head));
  }
  return responses;
}

}  // namespace

HttpServer::HttpServer(HttpContent content) : content_(std::move(content)) {}
HttpServer::~HttpServer() = default;

int HttpServer::port() const { return loop_->port(); }

absl::StatusOr<std::unique_ptr<HttpServer>> HttpServer::Start(
    absl::string_view address, HttpContent content, const HttpLimits& limits) {
  const auto parsed = ParseAddress(address);
  if (!parsed.ok()) return parsed.status();
  std::unique_ptr<HttpServer> server(new HttpServer(std::move(content)));
  auto loop = HttpLoop::Start(
      address,
      [&content = server->content_](const auto& requests) {
        return RespondToBatch(content, requests);
      },
      limits);
  if (!loop.ok()) return loop.status();
  server->loop_ = *std::move(loop);
  return server;
}

}  // namespace locus::server
