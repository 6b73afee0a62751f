#include "server/http.h"

#include <civetweb.h>

#include <atomic>
#include <chrono>
#include <system_error>
#include <thread>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "server/address.h"

namespace locus::server {
namespace {

struct Reply {
  int code;
  const char* reason;
  std::string body;
  const char* content_type = "text/plain; charset=utf-8";
};

Reply Answer(const HttpContent& content, absl::string_view method,
             absl::string_view path, absl::string_view authorization) {
  const bool is_metrics = path == "/metrics";
  const bool is_ready = path == "/readyz";
  if (!is_metrics && !is_ready && path != "/healthz") {
    return {404, "Not Found", "see /metrics, /healthz and /readyz\n"};
  }
  if (method != "GET" && method != "HEAD") {
    return {405, "Method Not Allowed", "only GET\n"};
  }
  if (is_metrics && content.auth != nullptr &&
      content.auth->CheckMetrics(authorization) != AuthVerdict::kAllowed) {
    return {401, "Unauthorized", "a valid bearer token is needed\n"};
  }
  if (is_metrics) {
    return {200, "OK", content.metrics(),
            "text/plain; version=0.0.4; charset=utf-8"};
  }
  if (is_ready && !content.is_ready()) {
    return {503, "Service Unavailable", "draining\n"};
  }
  return {200, "OK", "ok\n"};
}

int BeginRequest(mg_connection* connection) {
  const mg_request_info* request = mg_get_request_info(connection);
  const auto* content = static_cast<const HttpContent*>(request->user_data);
  const absl::string_view method(request->request_method);
  const absl::string_view path(
      request->local_uri != nullptr ? request->local_uri : "");
  const char* const authorization = mg_get_header(connection, "Authorization");
  const Reply reply = Answer(*content, method, path,
                             authorization != nullptr ? authorization : "");
  const std::string head =
      absl::StrCat("HTTP/1.1 ", reply.code, " ", reply.reason,
                   "\r\nContent-Type: ", reply.content_type,
                   "\r\nContent-Length: ", reply.body.size(),
                   reply.code == 401 ? "\r\nWWW-Authenticate: Bearer" : "",
                   reply.code == 405 ? "\r\nAllow: GET, HEAD" : "",
                   "\r\nCache-Control: no-store\r\nConnection: close\r\n\r\n");
  mg_write(connection, head.data(), head.size());
  if (method != "HEAD") {
    mg_write(connection, reply.body.data(), reply.body.size());
  }
  return reply.code;
}

int DropMessage(const mg_connection*, const char*) { return 1; }

}  // namespace

HttpServer::HttpServer(HttpContent content) : content_(std::move(content)) {}

absl::StatusOr<std::unique_ptr<HttpServer>> HttpServer::Start(
    absl::string_view address, HttpContent content) {
  const auto parsed = ParseAddress(address);
  if (!parsed.ok()) return parsed.status();
  std::unique_ptr<HttpServer> server(new HttpServer(std::move(content)));
  server->host_ = parsed->host;
  const std::string ports(address);
  const char* options[] = {"listening_ports",
                           ports.c_str(),
                           "num_threads",
                           "16",
                           "request_timeout_ms",
                           "2000",
                           "max_request_size",
                           "8192",
                           "enable_keep_alive",
                           "no",
                           nullptr};
  mg_callbacks callbacks{};
  callbacks.begin_request = BeginRequest;
  callbacks.log_message = DropMessage;
  server->context_ = mg_start(
      &callbacks, const_cast<HttpContent*>(&server->content_), options);
  if (server->context_ == nullptr) {
    return absl::UnavailableError(
        absl::StrCat("cannot listen on ", address, ": ", WhyNotBound(address)));
  }
  mg_server_port bound{};
  if (mg_get_server_ports(server->context_, 1, &bound) == 1) {
    server->port_ = bound.port;
  }
  return server;
}

// civetweb looks whether it should stop when someone connects, and every two
// seconds otherwise.
HttpServer::~HttpServer() {
  if (context_ == nullptr) return;
  std::atomic<bool> stopped{false};
  const auto wake = [&] {
    while (!stopped) {
      char error[128];
      mg_connection* const connection = mg_connect_client(
          host_.c_str(), port_, /*use_ssl=*/0, error, sizeof(error));
      if (connection != nullptr) mg_close_connection(connection);
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  };
  std::thread waker;
  try {
    waker = std::thread(wake);
  } catch (const std::system_error&) {
    // No thread to be had: it takes the two seconds.
  }
  mg_stop(context_);
  stopped = true;
  if (waker.joinable()) waker.join();
}

}  // namespace locus::server
