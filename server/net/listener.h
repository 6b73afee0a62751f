// Where connections come in, and how many may.
//
// gRPC 1.51 takes any number, and once it runs out of descriptors it closes its
// listening socket for good (CVE-2023-4785). So sockets are bound and accepted
// here and handed over one by one, as long as there are fewer than allowed.
// Whoever is too many is hung up on, which sends a client to another server.
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

// Connections that this process has the descriptors for, and how many of them
// it lets in unless told.
int MostConnections();
int UsualConnections();

// Thread-safe.
class Listener {
 public:
  // Takes a connected socket; it is the taker's to close.
  using Take = std::function<void(int listening, int connection)>;

  // Binds; nobody is accepted yet. `address` is host:port, where port 0 takes a
  // free one, or unix:/path.
  static absl::StatusOr<std::unique_ptr<Listener>> Bind(
      absl::string_view address, int max_connections);
  ~Listener();
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  // Accepts from here on, from a thread of its own.
  void Start(Take take);
  // Accepts nobody any more; connections that are there stay.
  void Stop();

  // 0 for a socket in the file system.
  int port() const { return port_; }
  int open_connections() const { return open_; }
  int64_t accepted_connections() const { return accepted_; }
  int64_t refused_connections() const { return refused_; }

 private:
  explicit Listener(int max_connections);
  absl::Status BindUnix(const std::string& path);
  absl::Status BindHost(absl::string_view address);
  absl::Status Listen(int socket);
  void Run();
  void Accept(int listening);
  // Watches over a second descriptor of the connection when it ends.
  bool Watch(int connection);
  void Forget(int watched);

  const int max_connections_;
  Take take_;
  std::vector<int> sockets_;
  std::string socket_path_;
  int port_ = 0;
  int poll_ = -1;
  int wake_ = -1;
  std::unordered_set<int> watched_;  // only of the thread
  std::atomic<int> open_{0};
  std::atomic<int64_t> accepted_{0};
  std::atomic<int64_t> refused_{0};
  std::thread thread_;
};

}  // namespace locus::server
