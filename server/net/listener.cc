#include "server/net/listener.h"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "core/base/status.h"
#include "server/base/allocator.h"
#include "server/base/printable.h"
#include "server/config/address.h"
#include "server/net/socket.h"
#include "server/observability/log.h"
#include "server/observability/process_metrics.h"

namespace locus::server {
namespace {

constexpr int kBacklog = 1024;
// Delay before the next accept() if the system has no file descriptor or memory
// left for a connection.
constexpr std::chrono::milliseconds kAcceptRetryDelay(20);
// Time without received bytes after which a connection is no longer checked,
// until it receives bytes again.
constexpr std::chrono::seconds kInactiveTime(1);
// Log lines of closed connections: per second in the long run, and at once.
constexpr double kLogLinesPerSecond = 1;
constexpr double kLogLinesBurst = 20;

absl::Status BindError(absl::string_view address, absl::string_view why) {
  return absl::UnavailableError(
      absl::StrCat("cannot listen on ", Printable(address, 200), ": ", why));
}

bool IsWildcard(const addrinfo& info) {
  if (info.ai_family == AF_INET) {
    return reinterpret_cast<const sockaddr_in*>(info.ai_addr)
               ->sin_addr.s_addr == htonl(INADDR_ANY);
  }
  return info.ai_family == AF_INET6 &&
         IN6_IS_ADDR_UNSPECIFIED(
             &reinterpret_cast<const sockaddr_in6*>(info.ai_addr)->sin6_addr);
}

int NewSocket(int family) {
  return socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
}

// Returns a bound socket, or -1 and sets errno. TCP_NODELAY, which accepted
// connections inherit, sends small messages without delay.
int BindSocket(const sockaddr* address, socklen_t length, bool dual_stack) {
  const int fd = NewSocket(address->sa_family);
  if (fd < 0) return -1;
  const int yes = 1;
  const int only_v6 = dual_stack ? 0 : 1;
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
  if (address->sa_family == AF_INET6) {
    setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &only_v6, sizeof(only_v6));
  }
  if (bind(fd, address, length) == 0) return fd;
  const int error = errno;
  close(fd);
  errno = error;
  return -1;
}

int PortOf(int fd) {
  sockaddr_storage bound{};
  socklen_t length = sizeof(bound);
  if (getsockname(fd, reinterpret_cast<sockaddr*>(&bound), &length) != 0) {
    return 0;
  }
  return ntohs(bound.ss_family == AF_INET6
                   ? reinterpret_cast<const sockaddr_in6*>(&bound)->sin6_port
                   : reinterpret_cast<const sockaddr_in*>(&bound)->sin_port);
}

void SetPort(int port, sockaddr* address) {
  if (address->sa_family == AF_INET6) {
    reinterpret_cast<sockaddr_in6*>(address)->sin6_port =
        htons(static_cast<uint16_t>(port));
  } else {
    reinterpret_cast<sockaddr_in*>(address)->sin_port =
        htons(static_cast<uint16_t>(port));
  }
}

// Removes the file of a Unix domain socket if no server listens on it any more.
// Returns true if it was removed.
bool RemoveStaleSocket(const sockaddr_un& address) {
  struct stat info {};
  if (stat(address.sun_path, &info) != 0 || !S_ISSOCK(info.st_mode)) {
    return false;
  }
  const int fd = NewSocket(AF_UNIX);
  if (fd < 0) return false;
  const bool refused = connect(fd, reinterpret_cast<const sockaddr*>(&address),
                               sizeof(address)) != 0 &&
                       errno == ECONNREFUSED;
  close(fd);
  return refused && unlink(address.sun_path) == 0;
}

// Returns true for errors of accept() that concern only the one connection,
// such as one that the client has closed already.
bool IsTransient(int error) {
  return error == EINTR || error == ECONNABORTED || error == EPROTO ||
         error == EPERM;
}

}  // namespace

Listener::Listener(int max_connections)
    : max_connections_(max_connections),
      log_lines_(kLogLinesPerSecond, kLogLinesBurst, Clock::now()) {}

absl::StatusOr<std::unique_ptr<Listener>> Listener::Bind(
    absl::string_view address, int max_connections) {
  std::unique_ptr<Listener> listener(new Listener(max_connections));
  listener->poll_ = epoll_create1(EPOLL_CLOEXEC);
  listener->wake_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (listener->poll_ < 0 || listener->wake_ < 0) {
    return BindError(address, strerror(errno));
  }
  absl::string_view path = address;
  if (absl::ConsumePrefix(&path, "unix:")) {
    if (absl::StartsWith(path, "///")) path.remove_prefix(2);
    LOCUS_RETURN_IF_ERROR(listener->BindUnix(std::string(path)));
  } else {
    LOCUS_RETURN_IF_ERROR(listener->BindHost(address));
  }
  return listener;
}

absl::Status Listener::BindUnix(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof(address.sun_path)) {
    return BindError(path, "the path is too long for a socket");
  }
  std::memcpy(address.sun_path, path.data(), path.size());
  const auto* const generic = reinterpret_cast<const sockaddr*>(&address);
  int fd = BindSocket(generic, sizeof(address), false);
  if (fd < 0 && errno == EADDRINUSE && RemoveStaleSocket(address)) {
    fd = BindSocket(generic, sizeof(address), false);
  }
  if (fd < 0) return BindError(path, strerror(errno));
  socket_path_ = path;
  return Listen(fd);
}

// Binds every address of the host name. A wildcard address binds IPv4 and IPv6
// if the machine has both, as it does in gRPC.
absl::Status Listener::BindHost(absl::string_view address) {
  const auto parsed = ParseAddress(address);
  if (!parsed.ok()) return parsed.status();
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE;
  addrinfo* found = nullptr;
  if (const int error =
          getaddrinfo(parsed->host.c_str(), absl::StrCat(parsed->port).c_str(),
                      &hints, &found);
      error != 0) {
    return BindError(address, gai_strerror(error));
  }
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owner(found,
                                                             freeaddrinfo);
  if (IsWildcard(*found)) {
    sockaddr_in6 any{};
    any.sin6_family = AF_INET6;
    any.sin6_port = htons(static_cast<uint16_t>(parsed->port));
    const int fd =
        BindSocket(reinterpret_cast<const sockaddr*>(&any), sizeof(any), true);
    if (fd >= 0) {
      port_ = PortOf(fd);
      return Listen(fd);
    }
    if (errno == EADDRINUSE) return BindError(address, strerror(errno));
  }
  int last_error = EADDRNOTAVAIL;
  for (addrinfo* one = found; one != nullptr; one = one->ai_next) {
    if (port_ != 0) SetPort(port_, one->ai_addr);
    const int fd = BindSocket(one->ai_addr, one->ai_addrlen, false);
    if (fd >= 0) {
      port_ = PortOf(fd);
      LOCUS_RETURN_IF_ERROR(Listen(fd));
      continue;
    }
    last_error = errno;
    // Skips address families that the machine does not support.
    if (last_error != EADDRNOTAVAIL && last_error != EAFNOSUPPORT) {
      return BindError(address, strerror(last_error));
    }
  }
  if (sockets_.empty()) return BindError(address, strerror(last_error));
  return absl::OkStatus();
}

absl::Status Listener::Listen(int socket) {
  sockets_.push_back(socket);
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.fd = socket;
  if (listen(socket, kBacklog) != 0 ||
      epoll_ctl(poll_, EPOLL_CTL_ADD, socket, &event) != 0) {
    return BindError(absl::StrCat("port ", port_), strerror(errno));
  }
  return absl::OkStatus();
}

void Listener::Start(OnConnection on_connection, ConnectionGuard* guard) {
  on_connection_ = std::move(on_connection);
  guard_ = guard;
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.fd = wake_;
  epoll_ctl(poll_, EPOLL_CTL_ADD, wake_, &event);
  thread_ = std::thread([this] { Run(); });
}

void Listener::Stop() {
  if (thread_.joinable()) {
    const uint64_t one = 1;
    while (write(wake_, &one, sizeof(one)) < 0 && errno == EINTR) {
    }
    thread_.join();
  }
  // Removes the socket file before closing the socket. In the opposite order, a
  // new server could find a stale socket, replace it, and lose its own file
  // here.
  if (!socket_path_.empty()) unlink(socket_path_.c_str());
  socket_path_.clear();
  for (const int socket : sockets_) close(socket);
  sockets_.clear();
}

Listener::~Listener() {
  Stop();
  for (const auto& [duplicate, connection] : connections_) {
    if (connection.guarded != nullptr) guard_->Remove(*connection.guarded);
    close(duplicate);
  }
  if (poll_ >= 0) close(poll_);
  if (wake_ >= 0) close(wake_);
}

void Listener::Run() {
  epoll_event events[64];
  while (true) {
    const int count = epoll_wait(poll_, events, std::size(events),
                                 CheckTimeout(Clock::now()));
    for (int i = 0; i < count; ++i) {
      const int fd = events[i].data.fd;
      if (fd == wake_) return;
      if (!connections_.contains(fd)) {
        Accept(fd);
      } else if (events[i].events == EPOLLIN) {
        Activate(fd, connections_.find(fd)->second, Clock::now());
      } else {
        OnClosed(fd);
      }
    }
    const auto now = Clock::now();
    if (CheckTimeout(now) == 0) CheckConnections(now);
  }
}

void Listener::Accept(int listening) {
  const int connection =
      accept4(listening, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
  if (connection < 0) {
    if (errno != EAGAIN && errno != EWOULDBLOCK && !IsTransient(errno)) {
      std::this_thread::sleep_for(kAcceptRetryDelay);
    }
    return;
  }
  if (guard_ != nullptr &&
      !guard_->MayConnect(PeerOf(connection), Clock::now())) {
    close(connection);
    return;
  }
  if (open_ >= max_connections_ || !WatchForClose(connection)) {
    ++rejected_;
    close(connection);
    return;
  }
  ++accepted_;
  on_connection_(listening, connection);
}

bool Listener::WatchForClose(int connection) {
  const int duplicate = fcntl(connection, F_DUPFD_CLOEXEC, 0);
  if (duplicate < 0) return false;
  Connection watched;
  watched.peer = PeerOf(connection);
  if (guard_ != nullptr && !watched.peer.empty()) {
    watched.guarded = guard_->Add(watched.peer, Clock::now());
  }
  epoll_event event{};
  event.events = 0;  // epoll always reports EPOLLHUP and EPOLLERR
  event.data.fd = duplicate;
  if (epoll_ctl(poll_, EPOLL_CTL_ADD, duplicate, &event) != 0) {
    if (watched.guarded != nullptr) guard_->Remove(*watched.guarded);
    close(duplicate);
    return false;
  }
  const std::lock_guard lock(mutex_);
  Connection& added =
      connections_.emplace(duplicate, std::move(watched)).first->second;
  if (added.guarded != nullptr) Activate(duplicate, added, Clock::now());
  ++open_;
  return true;
}

void Listener::OnClosed(int duplicate) {
  // close() alone would not remove it from epoll while another descriptor of
  // the socket is open.
  epoll_ctl(poll_, EPOLL_CTL_DEL, duplicate, nullptr);
  std::erase(active_, duplicate);
  const std::lock_guard lock(mutex_);
  const auto found = connections_.find(duplicate);
  if (found->second.guarded != nullptr) guard_->Remove(*found->second.guarded);
  connections_.erase(found);
  close(duplicate);
  --open_;
}

int Listener::CloseConnection(absl::string_view peer) {
  const std::lock_guard lock(mutex_);
  int count = 0;
  for (const auto& [duplicate, connection] : connections_) {
    if (connection.peer == peer) count += ShutDown(duplicate);
  }
  return count;
}

int Listener::CloseAll() {
  const std::lock_guard lock(mutex_);
  int count = 0;
  for (const auto& [duplicate, connection] : connections_) {
    count += ShutDown(duplicate);
  }
  return count;
}

int Listener::CheckTimeout(Clock::time_point now) const {
  if (guard_ == nullptr ||
      (connections_.empty() && !guard_->expects_freed_memory())) {
    return -1;
  }
  const auto next =
      active_.empty() ? next_sweep_ : std::min(next_check_, next_sweep_);
  return static_cast<int>(std::max<int64_t>(
      0, std::chrono::ceil<std::chrono::milliseconds>(next - now).count()));
}

void Listener::SetEvents(int duplicate, uint32_t events) {
  epoll_event event{};
  event.events = events;
  event.data.fd = duplicate;
  epoll_ctl(poll_, EPOLL_CTL_MOD, duplicate, &event);
}

void Listener::Activate(int duplicate, Connection& connection,
                        Clock::time_point now) {
  if (active_.empty()) next_check_ = now + kCheckInterval;
  active_.push_back(duplicate);
  connection.is_active = true;
  connection.received_at = now;
  SetEvents(duplicate, 0);
}

void Listener::CheckConnections(Clock::time_point now) {
  next_check_ = now + kCheckInterval;
  std::erase_if(active_, [&](int duplicate) {
    Connection& connection = connections_.find(duplicate)->second;
    CheckConnection(duplicate, connection, now);
    if (now - connection.received_at < kInactiveTime) return false;
    connection.is_active = false;
    SetEvents(duplicate, EPOLLIN);
    return true;
  });
  if (now >= next_sweep_) {
    next_sweep_ = now + kSweepInterval;
    for (auto& [duplicate, connection] : connections_) {
      if (connection.is_active || connection.guarded == nullptr) continue;
      CheckConnection(duplicate, connection, now);
      if (connection.received_at == now) Activate(duplicate, connection, now);
    }
  }
  CheckMemory(now);
}

void Listener::CheckConnection(int duplicate, Connection& connection,
                               Clock::time_point now) {
  const GuardedConnection::Reports reports = connection.guarded->TakeReports();
  const auto bytes = SocketBytesOf(duplicate);
  if (!bytes) return;
  if (bytes->received != connection.received_bytes) {
    connection.received_bytes = bytes->received;
    connection.received_at = now;
  }
  const auto reason = guard_->Check(*connection.guarded, reports, *bytes, now);
  if (!reason) return;
  ShutDown(duplicate);
  LogClosed(*connection.guarded, *reason, now);
}

void Listener::CheckMemory(Clock::time_point now) {
  const int64_t resident = ResidentBytes();
  if (const auto connection = guard_->CheckMemory(resident, now)) {
    CloseConnection(connection->peer());
    LogClosed(*connection, CloseReason::kMemory, now);
  }
  if (guard_->ShouldTrim(resident, now)) TrimFreedMemory();
}

void Listener::LogClosed(const GuardedConnection& connection,
                         CloseReason reason, Clock::time_point now) {
  if (!log_lines_.Take(now)) return;
  WriteLog(
      LogLine("warning", "connection_closed")
          .Add("peer", connection.peer())
          .Add("reason", NameOf(reason))
          .Add("unaccounted_bytes", guard_->unaccounted_bytes(connection)));
}

}  // namespace locus::server
