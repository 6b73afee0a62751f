// The HTTP server: connections, their limits, and the thread that serves them.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "server/http/event_loop.h"
#include "server/http/http_limits.h"
#include "server/http/http_router.h"
#include "server/net/tls.h"

namespace locus::server {

struct HttpServerOptions {
  // host:port; port 0 selects a free port.
  std::string address;
  HttpLimits limits;
  // Certificates; null: plaintext. If they have authorities for client
  // certificates, routes answer 403 to clients without one, unless the route is
  // exempt. Must outlive the server.
  const TlsStore* tls = nullptr;
};

// Serves HTTP/1.1 from Start() until destruction, on the thread of its event
// loop, so that it responds under full load of the RPCs. No connection blocks
// the thread: slow and silent clients cannot delay others, and HttpLimits
// bounds their number, time and input.
class HttpServer {
 public:
  // UNAVAILABLE if the address cannot be bound. The server stops the loop.
  static absl::StatusOr<std::unique_ptr<HttpServer>> Start(
      std::shared_ptr<EventLoop> loop, const HttpServerOptions& options,
      HttpRouter router);
  // Closes all connections and stops the loop. Handlers may still hold writers.
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  // The bound port.
  int port() const;

 private:
  class Impl;
  explicit HttpServer(std::unique_ptr<Impl> impl);
  const std::unique_ptr<Impl> impl_;
};

}  // namespace locus::server
