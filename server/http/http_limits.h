// Limits of the HTTP server.
#pragma once

#include <chrono>
#include <cstddef>

namespace locus::server {

struct HttpLimits {
  // Max open connections. A further one replaces the oldest one whose request
  // is incomplete, or else the oldest of all.
  size_t max_connections = 64;
  // Max size of the head of a request. A longer one is answered with 400.
  size_t max_head_bytes = 8192;
  // Max time from accepting a connection to the end of the request's head.
  std::chrono::milliseconds head_timeout{2000};
  // Max time from the end of the head until the client has read the response
  // and closed its side of the connection.
  std::chrono::milliseconds response_timeout{5000};
};

}  // namespace locus::server
