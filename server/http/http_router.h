// The endpoints of the HTTP server.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "server/http/http_handler.h"

namespace locus::server {

struct HttpRoute {
  // Allowed methods. HEAD responses are those of GET without the body.
  std::vector<std::string> methods = {"GET", "HEAD"};
  // Max size of the body of a request. A larger one is answered with 413, and
  // the server does not read it.
  size_t max_body_bytes = 0;
  // Whether clients without a certificate may use the route if the server
  // verifies client certificates. Only for probes.
  bool without_client_certificate = false;
  // Runs before the body is read. A response that it returns is sent instead of
  // calling the handler. Null: no check.
  std::function<std::optional<HttpResponse>(const HttpRequest&)> check;
  HttpHandler handler;
};

// Finds routes by their path, which must be equal. Immutable while a server
// uses it.
class HttpRouter {
 public:
  void Add(absl::string_view path, HttpRoute route);
  // Returns null if there is none.
  const HttpRoute* Find(absl::string_view path) const;
  // Returns all paths, separated by commas.
  std::string Paths() const;

 private:
  std::map<std::string, HttpRoute, std::less<>> routes_;
};

// Returns true if `route` allows the method.
bool AllowsMethod(const HttpRoute& route, absl::string_view method);
// Returns the response to a method that `route` does not allow.
HttpResponse MethodNotAllowed(const HttpRoute& route);

}  // namespace locus::server
