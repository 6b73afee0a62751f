// Accepting connections of the RPC port, up to a limit.
//
// gRPC 1.51 has no limit on connections, and closes its listening socket for
// good when the process runs out of file descriptors (CVE-2023-4785). Listener
// therefore accepts connections itself and hands them to gRPC one by one
// (docs/adr/0006-own-listener.md). It keeps a duplicate
// descriptor of each, through which it can count the bytes received and shut
// the connection down without the help of its owner.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "server/admission/token_bucket.h"
#include "server/base/clock.h"
#include "server/net/connection_guard.h"

namespace locus::server {

// Listens on one address and accepts connections on a thread of its own. At
// most `max_connections` are open; further ones are closed at once, so that
// clients can try another server.
//
// The counters, CloseConnection() and CloseAll() are thread-safe. Bind(),
// Start(), Stop() and the destructor must be called from one thread at a time.
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

  // Starts to accept connections. Call it once. If there is a `guard`, it
  // checks TCP connections every kCheckInterval while they receive bytes, and
  // the others every kSweepInterval. Connections that it rejects are closed.
  // The guard must outlive the listener.
  void Start(OnConnection on_connection, ConnectionGuard* guard = nullptr);
  static constexpr std::chrono::milliseconds kCheckInterval{100};
  static constexpr std::chrono::seconds kSweepInterval{1};
  // Stops accepting. Open connections stay open, but are no longer checked, and
  // open_connections() no longer changes. Later calls do nothing.
  void Stop();

  // Shuts down the connection of this peer (see PeerOf()), or all connections,
  // and discards the bytes received but not read yet. Their owner then finds
  // them closed. Returns the number of connections that were open. Works after
  // Stop(), too.
  int CloseConnection(absl::string_view peer);
  int CloseAll();

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

  // An open connection. A connection that receives bytes is active until it has
  // received none for a while. Active connections are checked at each interval,
  // the others at each sweep: epoll reports most bytes that an inactive
  // connection receives, but none that its owner reads at once.
  struct Connection {
    std::string peer;
    std::shared_ptr<GuardedConnection> guarded;  // null without a guard
    bool is_active = false;
    int64_t received_bytes = 0;
    Clock::time_point received_at{};
  };
  // Milliseconds until the next check; -1 if none is needed.
  int CheckTimeout(Clock::time_point now) const;
  void Activate(int duplicate, Connection& connection, Clock::time_point now);
  // Checks active connections, or all of them, and the memory of the process.
  void CheckConnections(Clock::time_point now);
  void CheckConnection(int duplicate, Connection& connection,
                       Clock::time_point now);
  void CheckMemory(Clock::time_point now);
  void LogClosed(const GuardedConnection& connection, CloseReason reason,
                 Clock::time_point now);
  void SetEvents(int duplicate, uint32_t events);

  const int max_connections_;
  OnConnection on_connection_;
  std::vector<int> sockets_;
  std::string socket_path_;
  int port_ = 0;
  int poll_ = -1;
  int wake_ = -1;
  ConnectionGuard* guard_ = nullptr;
  Clock::time_point next_check_{};  // of active connections
  Clock::time_point next_sweep_{};
  std::vector<int> active_;  // duplicates
  TokenBucket log_lines_;
  // The open connections by their duplicate descriptor. Guarded by mutex_,
  // which the listener's thread takes only for changes, since no other thread
  // changes the map.
  std::unordered_map<int, Connection> connections_;
  std::mutex mutex_;
  std::atomic<int> open_{0};
  std::atomic<int64_t> accepted_{0};
  std::atomic<int64_t> rejected_{0};
  std::thread thread_;
};

}  // namespace locus::server
