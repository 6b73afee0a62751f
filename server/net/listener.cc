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
#include "server/config/address.h"
#include "server/rpc/status.h"

namespace locus::server {
namespace {

constexpr int kBacklog = 1024;
// Files, the HTTP port's connections, gRPC's own; and two for each connection.
constexpr int kOtherDescriptors = 384;
constexpr int kUsualConnections = 10'000;
// When the system has no descriptor or memory left for a connection.
constexpr std::chrono::milliseconds kPause(20);

absl::Status NotBound(absl::string_view address, absl::string_view why) {
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

// A bound socket, or -1 and errno. Its connections send small messages at once.
int BindSocket(const sockaddr* address, socklen_t length, bool both_families) {
  const int fd = NewSocket(address->sa_family);
  if (fd < 0) return -1;
  const int yes = 1;
  const int only_v6 = both_families ? 0 : 1;
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

// A socket that a server which is gone has left behind may go; one that answers
// may not.
bool RemoveDeadSocket(const sockaddr_un& address) {
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

// Connections that ended before they were accepted are nobody's fault.
bool IsPassing(int error) {
  return error == EINTR || error == ECONNABORTED || error == EPROTO ||
         error == EPERM;
}

}  // namespace

int MostConnections() {
  constexpr rlim_t kMany = 4'000'000;
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return kUsualConnections;
  const auto descriptors =
      static_cast<int>(std::min<rlim_t>(limit.rlim_cur, kMany));
  return std::max(1, (descriptors - kOtherDescriptors) / 2);
}

int UsualConnections() {
  return std::min(MostConnections(), kUsualConnections);
}

Listener::Listener(int max_connections) : max_connections_(max_connections) {}

absl::StatusOr<std::unique_ptr<Listener>> Listener::Bind(
    absl::string_view address, int max_connections) {
  std::unique_ptr<Listener> listener(new Listener(max_connections));
  listener->poll_ = epoll_create1(EPOLL_CLOEXEC);
  listener->wake_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (listener->poll_ < 0 || listener->wake_ < 0) {
    return NotBound(address, strerror(errno));
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
    return NotBound(path, "the path is too long for a socket");
  }
  std::memcpy(address.sun_path, path.data(), path.size());
  const auto* const generic = reinterpret_cast<const sockaddr*>(&address);
  int fd = BindSocket(generic, sizeof(address), false);
  if (fd < 0 && errno == EADDRINUSE && RemoveDeadSocket(address)) {
    fd = BindSocket(generic, sizeof(address), false);
  }
  if (fd < 0) return NotBound(path, strerror(errno));
  socket_path_ = path;
  return Listen(fd);
}

// Every address of the name; "all of IPv4" means IPv6 as well where there is
// any, as it does for gRPC.
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
    return NotBound(address, gai_strerror(error));
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
    if (errno == EADDRINUSE) return NotBound(address, strerror(errno));
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
    // A family the machine does not have is no reason not to serve the other.
    if (last_error != EADDRNOTAVAIL && last_error != EAFNOSUPPORT) {
      return NotBound(address, strerror(last_error));
    }
  }
  if (sockets_.empty()) return NotBound(address, strerror(last_error));
  return absl::OkStatus();
}

absl::Status Listener::Listen(int socket) {
  sockets_.push_back(socket);
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.fd = socket;
  if (listen(socket, kBacklog) != 0 ||
      epoll_ctl(poll_, EPOLL_CTL_ADD, socket, &event) != 0) {
    return NotBound(absl::StrCat("port ", port_), strerror(errno));
  }
  return absl::OkStatus();
}

void Listener::Start(Take take) {
  take_ = std::move(take);
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
  // Its name first: whoever comes next would find the socket dead, and have its
  // own taken away.
  if (!socket_path_.empty()) unlink(socket_path_.c_str());
  socket_path_.clear();
  for (const int socket : sockets_) close(socket);
  sockets_.clear();
  for (const int connection : watched_) close(connection);
  watched_.clear();
}

Listener::~Listener() {
  Stop();
  if (poll_ >= 0) close(poll_);
  if (wake_ >= 0) close(wake_);
}

void Listener::Run() {
  epoll_event events[64];
  while (true) {
    const int count = epoll_wait(poll_, events, std::size(events), -1);
    for (int i = 0; i < count; ++i) {
      const int fd = events[i].data.fd;
      if (fd == wake_) return;
      if (watched_.contains(fd)) {
        Forget(fd);
      } else {
        Accept(fd);
      }
    }
  }
}

void Listener::Accept(int listening) {
  const int connection =
      accept4(listening, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
  if (connection < 0) {
    if (errno != EAGAIN && errno != EWOULDBLOCK && !IsPassing(errno)) {
      std::this_thread::sleep_for(kPause);
    }
    return;
  }
  if (open_ >= max_connections_ || !Watch(connection)) {
    ++refused_;
    close(connection);
    return;
  }
  ++accepted_;
  take_(listening, connection);
}

// gRPC does not tell when a connection ends, but it shuts a socket down before
// it closes it, and that is seen on any descriptor of the socket.
bool Listener::Watch(int connection) {
  const int watched = fcntl(connection, F_DUPFD_CLOEXEC, 0);
  if (watched < 0) return false;
  epoll_event event{};
  event.events = 0;  // its end is always told
  event.data.fd = watched;
  if (epoll_ctl(poll_, EPOLL_CTL_ADD, watched, &event) != 0) {
    close(watched);
    return false;
  }
  watched_.insert(watched);
  ++open_;
  return true;
}

void Listener::Forget(int watched) {
  watched_.erase(watched);
  // Closing alone would not do while another descriptor is open.
  epoll_ctl(poll_, EPOLL_CTL_DEL, watched, nullptr);
  close(watched);
  --open_;
}

}  // namespace locus::server
