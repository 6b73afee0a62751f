// Limits of the HTTP server.
#pragma once

#include <chrono>
#include <cstddef>

namespace locus::server {

struct HttpLimits {
  // Max open connections. A further one replaces the connection that has been
  // idle for longest (HttpServer::FindVictim()).
  size_t max_connections = 64;
  // Time during which a connection that has just been accepted, or that has
  // just begun a request or a response, is not replaced by a new one. While all
  // connections are that young, new ones wait in the backlog.
  std::chrono::milliseconds eviction_grace{50};
  // Max size of the head of a request, including its empty line. A longer one
  // is answered with 431.
  size_t max_head_bytes = 8192;
  // Max duration of the TLS handshake.
  std::chrono::milliseconds handshake_timeout{2000};
  // Max time from the first byte of a request to the end of its head. For the
  // first request of a connection, the time since the connection was accepted.
  std::chrono::milliseconds head_timeout{2000};
  // Max time for each 64 KiB of the body of a request.
  std::chrono::milliseconds body_timeout{10000};
  // Max time that the client leaves sent data unread while there is more to
  // send.
  std::chrono::milliseconds write_timeout{5000};
  // Max time between two requests of a connection. Longer than the usual scrape
  // interval of one minute.
  std::chrono::milliseconds idle_timeout{75000};
  // Max time from the last response of a connection until the client closes its
  // side.
  std::chrono::milliseconds linger_timeout{2000};
};

}  // namespace locus::server
