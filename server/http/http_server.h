// The HTTP port: /metrics, /healthz and /readyz.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "server/net/authentication.h"

namespace locus::server {

class HttpLoop;

// What the port tells. Called from its own thread.
struct HttpContent {
  std::function<std::string()> metrics;
  std::function<bool()> is_ready;
  // Whether /metrics may be read; null: by anybody. The others always may.
  const Authenticator* auth = nullptr;
};

// Serves from construction to destruction, from a thread of its own, so that it
// answers however busy the RPCs are. A client that is slow, or sends more than
// a few kilobytes, is cut off, and keeps nobody waiting until then.
class HttpServer {
 public:
  // `address` is host:port; port 0 takes a free one.
  static absl::StatusOr<std::unique_ptr<HttpServer>> Start(
      absl::string_view address, HttpContent content);
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  int port() const;

 private:
  explicit HttpServer(HttpContent content);

  const HttpContent content_;
  std::unique_ptr<HttpLoop> loop_;
};

}  // namespace locus::server
