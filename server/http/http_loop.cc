#include "server/http/http_loop.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/status.h"

namespace locus::server {
namespace {

// Max bytes read from one connection per event, so that all connections make
// progress.
constexpr size_t kChunkBytes = 4096;
// Max connections that the listener has accepted and the loop has not yet seen.
constexpr size_t kMaxPendingConnections = 16;

bool WouldBlock() {
  return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
}

}  // namespace

HttpLoop::HttpLoop(std::unique_ptr<Listener> listener, BatchHandler handler,
                   const HttpLimits& limits)
    : handler_(std::move(handler)),
      limits_(limits),
      listener_(std::move(listener)) {}

absl::StatusOr<std::unique_ptr<HttpLoop>> HttpLoop::Start(
    absl::string_view address, BatchHandler handler, const HttpLimits& limits) {
  // The listener counts a closed connection until it has seen the shutdown, so
  // its limit must be higher than that of the loop.
  auto listener =
      Listener::Bind(address, static_cast<int>(2 * limits.max_connections));
  if (!listener.ok()) return listener.status();
  std::unique_ptr<HttpLoop> loop(
      new HttpLoop(*std::move(listener), std::move(handler), limits));
  loop->wake_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (loop->wake_ < 0) {
    return absl::UnavailableError(
        absl::StrCat("no file descriptor left for ", address));
  }
  try {
    loop->thread_ = std::thread([raw = loop.get()] { raw->Run(); });
    loop->listener_->Start([raw = loop.get()](int, int connection) {
      raw->AddPending(connection);
    });
  } catch (const std::system_error& error) {
    return absl::UnavailableError(absl::StrCat("cannot start a thread for ",
                                               address, ": ", error.what()));
  }
  return loop;
}

HttpLoop::~HttpLoop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    if (wake_ >= 0) Wake();
  }
  has_room_.notify_all();
  listener_->Stop();
  if (thread_.joinable()) thread_.join();
  for (const Connection& connection : connections_) close(connection.socket);
  for (const int socket : pending_) close(socket);
  if (wake_ >= 0) close(wake_);
}

void HttpLoop::AddPending(int connection) {
  std::unique_lock lock(mutex_);
  pending_.push_back(connection);
  Wake();
  has_room_.wait(lock, [this] {
    return pending_.size() < kMaxPendingConnections || stopping_;
  });
}

void HttpLoop::Wake() const {
  const uint64_t one = 1;
  while (write(wake_, &one, sizeof(one)) < 0 && errno == EINTR) {
  }
}

void HttpLoop::Run() {
  while (WaitAndServe()) {
  }
}

bool HttpLoop::WaitAndServe() {
  std::vector<pollfd> polled = {{.fd = wake_, .events = POLLIN, .revents = 0}};
  for (const Connection& connection : connections_) {
    const bool writing = connection.stage == Stage::kWriting;
    polled.push_back({.fd = connection.socket,
                      .events = static_cast<decltype(pollfd::events)>(
                          writing ? POLLOUT : POLLIN),
                      .revents = 0});
  }
  poll(polled.data(), polled.size(), MillisToNextDeadline());
  size_t i = 1;
  for (Connection& connection : connections_) {
    if (polled[i++].revents != 0) Serve(connection);
  }
  HandleBatch();
  RemoveClosed();
  uint64_t woken = 0;
  while (read(wake_, &woken, sizeof(woken)) < 0 && errno == EINTR) {
  }
  AcceptPending();
  const std::lock_guard lock(mutex_);
  return !stopping_;
}

void HttpLoop::AcceptPending() {
  std::vector<int> accepted;
  {
    const std::lock_guard lock(mutex_);
    accepted.swap(pending_);
  }
  has_room_.notify_all();
  for (const int socket : accepted) {
    EvictIfFull();
    connections_.push_back(
        {.socket = socket, .deadline = Clock::now() + limits_.head_timeout});
    // Most clients have sent their request already.
    Serve(connections_.back());
  }
  HandleBatch();
  RemoveClosed();
}

void HttpLoop::EvictIfFull() {
  if (connections_.size() < limits_.max_connections) return;
  HandleBatch();
  // The oldest connection without a complete request, else the oldest of all.
  const auto silent = std::find_if(connections_.begin(), connections_.end(),
                                   [](const Connection& connection) {
                                     return connection.stage == Stage::kReading;
                                   });
  (silent != connections_.end() ? *silent : connections_.front()).stage =
      Stage::kClosed;
  RemoveClosed();
}

void HttpLoop::Serve(Connection& connection) {
  switch (connection.stage) {
    case Stage::kReading:
      return Read(connection);
    case Stage::kWriting:
      return Write(connection);
    case Stage::kLingering:
      return Linger(connection);
    default:
      return;
  }
}

void HttpLoop::Read(Connection& connection) {
  char bytes[kChunkBytes];
  const ssize_t got = recv(connection.socket, bytes, sizeof(bytes), 0);
  if (got <= 0) {
    if (got == 0 || !WouldBlock()) connection.stage = Stage::kClosed;
    return;
  }
  connection.head.append(bytes, got);
  const size_t length = HttpHeadLength(connection.head);
  if (length == absl::string_view::npos &&
      connection.head.size() < limits_.max_head_bytes) {
    return;
  }
  // A head that is too long is cut before its empty line, and therefore fails
  // to parse.
  connection.head.resize(
      std::min({length, connection.head.size(), limits_.max_head_bytes}));
  connection.stage = Stage::kReady;
}

void HttpLoop::HandleBatch() {
  std::vector<Connection*> batch;
  std::vector<std::optional<HttpRequest>> requests;
  for (Connection& connection : connections_) {
    if (connection.stage != Stage::kReady) continue;
    batch.push_back(&connection);
    requests.push_back(ParseHttpHead(connection.head));
  }
  if (batch.empty()) return;
  std::vector<std::string> responses = handler_(requests);
  for (size_t i = 0; i < batch.size(); ++i) {
    batch[i]->response = std::move(responses[i]);
    batch[i]->stage = Stage::kWriting;
    batch[i]->deadline = Clock::now() + limits_.response_timeout;
    Write(*batch[i]);
  }
}

void HttpLoop::Write(Connection& connection) {
  while (connection.sent_bytes < connection.response.size()) {
    const ssize_t sent = send(
        connection.socket, connection.response.data() + connection.sent_bytes,
        connection.response.size() - connection.sent_bytes, MSG_NOSIGNAL);
    if (sent < 0) {
      if (!WouldBlock()) connection.stage = Stage::kClosed;
      return;
    }
    connection.sent_bytes += sent;
  }
  shutdown(connection.socket, SHUT_WR);
  connection.stage = Stage::kLingering;
}

void HttpLoop::Linger(Connection& connection) {
  char bytes[kChunkBytes];
  const ssize_t got = recv(connection.socket, bytes, sizeof(bytes), 0);
  if (got == 0 || (got < 0 && !WouldBlock())) connection.stage = Stage::kClosed;
}

void HttpLoop::RemoveClosed() {
  const auto now = Clock::now();
  for (auto it = connections_.begin(); it != connections_.end();) {
    if (it->stage != Stage::kClosed && now < it->deadline) {
      ++it;
      continue;
    }
    // The listener sees the shutdown on its duplicate of the descriptor.
    shutdown(it->socket, SHUT_RDWR);
    close(it->socket);
    it = connections_.erase(it);
  }
}

int HttpLoop::MillisToNextDeadline() const {
  if (connections_.empty()) return -1;
  auto first = Clock::time_point::max();
  for (const Connection& connection : connections_) {
    first = std::min(first, connection.deadline);
  }
  const auto left =
      std::chrono::ceil<std::chrono::milliseconds>(first - Clock::now());
  return static_cast<int>(std::max<int64_t>(0, left.count()));
}

}  // namespace locus::server
