// The HTTP server: /metrics, /healthz and /readyz.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "server/http/http_limits.h"
#include "server/net/authentication.h"

namespace locus::server {

class HttpLoop;

// Content of the endpoints. The functions run on the server's thread.
struct HttpContent {
  // Returns the body of /metrics. Called once for requests that arrive
  // together.
  std::function<std::string()> metrics;
  // Returns whether /readyz succeeds.
  std::function<bool()> is_ready;
  // Checks the token of requests for /metrics; null if none is needed. /healthz
  // and /readyz never need one. Must outlive the server.
  const Authenticator* auth = nullptr;
};

// Serves from Start() until destruction, on a thread of its own, so that it
// responds under full load of the RPCs. Slow and silent clients cannot delay
// others; HttpLimits bounds their number, time and input.
class HttpServer {
 public:
  // `address` is host:port; port 0 selects a free port. UNAVAILABLE if it
  // cannot be bound.
  static absl::StatusOr<std::unique_ptr<HttpServer>> Start(
      absl::string_view address, HttpContent content,
      const HttpLimits& limits = {});
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  // The bound port.
  int port() const;

 private:
  explicit HttpServer(HttpContent content);

  const HttpContent content_;
  std::unique_ptr<HttpLoop> loop_;
};

}  // namespace locus::server
