// Accepting connections, up to a limit.
//
// gRPC 1.51 has no limit on connections, and closes its listening socket for
// good when the process runs out of file descriptors (CVE-2023-4785). Listener
// therefore accepts connections itself and hands them to gRPC, or to the HTTP
// server, one by one (docs/adr/0006-own-listener.md).
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <unordered_set>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace locus::server {

// Listens on one address and accepts connections on a thread of its own. At
// most `max_connections` are open; further ones are closed at once, so that
// clients can try another server.
//
// The counters are safe to read from any thread. Bind(), Start(), Stop() and
// the destructor must be called from one thread at a time.
class Listener {
 public:
  // Receives an accepted, non-blocking connection, and the listening socket
  // that accepted it. Takes ownership of the connection and must shut it down
  // (shutdown(2)) before closing it, because the shutdown tells the listener
  // that the connection has ended. Runs on the listener's thread.
  using OnConnection = std::function<void(int listening, int connection)>;

  // Binds without accepting connections. `address` is host:port, where port 0
  // selects a free port, or unix:/path. UNAVAILABLE if the address cannot be
  // bound.
  static absl::StatusOr<std::unique_ptr<Listener>> Bind(
      absl::string_view address, int max_connections);
  ~Listener();
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  // Starts to accept connections. Call it once.
  void Start(OnConnection on_connection);
  // Stops accepting. Open connections stay open, and open_connections() no
  // longer changes. Later calls do nothing.
  void Stop();

  // The bound port; 0 for a Unix domain socket.
  int port() const { return port_; }
  // Connections that are open now.
  int open_connections() const { return open_; }
  // Total connections accepted, and closed because of the limit.
  int64_t accepted_connections() const { return accepted_; }
  int64_t rejected_connections() const { return rejected_; }

 private:
  explicit Listener(int max_connections);
  absl::Status BindUnix(const std::string& path);
  absl::Status BindHost(absl::string_view address);
  absl::Status Listen(int socket);
  void Run();
  void Accept(int listening);
  // Duplicates the descriptor of a connection and adds the duplicate to epoll,
  // which reports the shutdown of the connection on all of its descriptors.
  bool WatchForClose(int connection);
  void OnClosed(int duplicate);

  const int max_connections_;
  OnConnection on_connection_;
  std::vector<int> sockets_;
  std::string socket_path_;
  int port_ = 0;
  int poll_ = -1;
  int wake_ = -1;
  // Duplicate descriptors of the open connections. Used by the listener's
  // thread only, while it runs.
  std::unordered_set<int> duplicates_;
  std::atomic<int> open_{0};
  std::atomic<int64_t> accepted_{0};
  std::atomic<int64_t> rejected_{0};
  std::thread thread_;
};

}  // namespace locus::server
