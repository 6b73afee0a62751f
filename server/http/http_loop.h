// Event loop of the HTTP server: one thread that serves many connections
// without blocking on any of them, so that slow or silent clients cannot delay
// others.
#pragma once

#include <sys/types.h>

#include <condition_variable>
#include <cstddef>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "server/base/clock.h"
#include "server/http/http_limits.h"
#include "server/http/http_request.h"
#include "server/net/listener.h"

namespace locus::server {

// Serves from Start() until destruction. Each connection carries one request
// and one response. Requests that are complete when the loop wakes up are
// passed to the handler in one batch, so that the handler can share work
// between them.
class HttpLoop {
 public:
  // Returns one serialized response for each request of a batch, in the same
  // order. nullopt stands for a malformed or too long request. Runs on the
  // loop's thread, which serves no other connection meanwhile.
  using BatchHandler = std::function<std::vector<std::string>(
      const std::vector<std::optional<HttpRequest>>&)>;

  // `address` is host:port. UNAVAILABLE if it cannot be bound.
  static absl::StatusOr<std::unique_ptr<HttpLoop>> Start(
      absl::string_view address, BatchHandler handler,
      const HttpLimits& limits = {});
  // Closes all connections.
  ~HttpLoop();
  HttpLoop(const HttpLoop&) = delete;
  HttpLoop& operator=(const HttpLoop&) = delete;

  int port() const { return listener_->port(); }

 private:
  // Stages of a connection, in order.
  enum class Stage {
    kReading,    // the head of the request is incomplete
    kReady,      // the request waits for the next batch
    kWriting,    // the response is being sent
    kLingering,  // the response is sent; input is discarded until the end
    kClosed      // to be removed
  };
  struct Connection {
    int socket = -1;
    Stage stage = Stage::kReading;
    Clock::time_point deadline;  // for the head, then for the response
    std::string head;
    std::string response;
    size_t sent_bytes = 0;
  };

  HttpLoop(std::unique_ptr<Listener> listener, BatchHandler handler,
           const HttpLimits& limits);
  void Wake() const;
  // Adds a connection to `pending_`. Blocks the listener's thread while too
  // many are pending, so that later ones wait in the backlog instead of
  // exceeding the listener's limit. Called on the listener's thread.
  void AddPending(int connection);

  // The following functions run on the loop's thread.
  void Run();
  // Waits for events and processes them. Returns false if the loop must stop.
  bool WaitAndServe();
  void AcceptPending();
  // Closes a connection if there are `max_connections`.
  void EvictIfFull();
  void Serve(Connection& connection);
  void Read(Connection& connection);
  // Passes all requests in stage kReady to the handler.
  void HandleBatch();
  void Write(Connection& connection);
  // Discards input until the client closes. Closing a socket with unread input
  // resets the connection, and the client could lose the response (RFC 9112,
  // section 9.6).
  void Linger(Connection& connection);
  // Removes connections that are closed or past their deadline.
  void RemoveClosed();
  // Timeout for poll(): -1 if there are no connections.
  int MillisToNextDeadline() const;

  const BatchHandler handler_;
  const HttpLimits limits_;
  const std::unique_ptr<Listener> listener_;
  int wake_ = -1;  // eventfd that wakes up the loop
  // Oldest first. Used by the loop's thread only, while it runs.
  std::list<Connection> connections_;
  std::mutex mutex_;
  std::condition_variable has_room_;  // signals that pending_ has shrunk
  std::vector<int> pending_;          // accepted sockets; guarded by mutex_
  bool stopping_ = false;             // guarded by mutex_
  std::thread thread_;
};

}  // namespace locus::server
