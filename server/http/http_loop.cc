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

// What is left to read of one client before it is another's turn.
constexpr size_t kChunkBytes = 4096;
// Accepted, and not looked at yet.
constexpr size_t kMostNewcomers = 16;

bool WouldBlock() {
  return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
}

}  // namespace

HttpLoop::HttpLoop(std::unique_ptr<Listener> listener, Answer answer,
                   const HttpLimits& limits)
    : answer_(std::move(answer)),
      limits_(limits),
      listener_(std::move(listener)) {}

absl::StatusOr<std::unique_ptr<HttpLoop>> HttpLoop::Start(
    absl::string_view address, Answer answer, const HttpLimits& limits) {
  // Those that were hung up on count until the listener has noticed.
  auto listener =
      Listener::Bind(address, static_cast<int>(2 * limits.max_connections));
  if (!listener.ok()) return listener.status();
  std::unique_ptr<HttpLoop> loop(
      new HttpLoop(*std::move(listener), std::move(answer), limits));
  loop->wake_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (loop->wake_ < 0) {
    return absl::UnavailableError(
        absl::StrCat("no descriptor is left for ", address));
  }
  try {
    loop->thread_ = std::thread([raw = loop.get()] { raw->Run(); });
    loop->listener_->Start(
        [raw = loop.get()](int, int connection) { raw->Welcome(connection); });
  } catch (const std::system_error& error) {
    return absl::UnavailableError(
        absl::StrCat("no thread for ", address, ": ", error.what()));
  }
  return loop;
}

HttpLoop::~HttpLoop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    if (wake_ >= 0) Wake();
  }
  keeps_up_.notify_all();
  listener_->Stop();
  if (thread_.joinable()) thread_.join();
  for (const Connection& connection : connections_) close(connection.socket);
  for (const int socket : newcomers_) close(socket);
  if (wake_ >= 0) close(wake_);
}

void HttpLoop::Welcome(int connection) {
  std::unique_lock lock(mutex_);
  newcomers_.push_back(connection);
  Wake();
  keeps_up_.wait(
      lock, [this] { return newcomers_.size() < kMostNewcomers || stopping_; });
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
    const bool writing = connection.stage == Stage::kReplying;
    polled.push_back({.fd = connection.socket,
                      .events = static_cast<decltype(pollfd::events)>(
                          writing ? POLLOUT : POLLIN),
                      .revents = 0});
  }
  poll(polled.data(), polled.size(), MillisToFirstEnd());
  size_t i = 1;
  for (Connection& connection : connections_) {
    if (polled[i++].revents != 0) Serve(connection);
  }
  AnswerAsked();
  RemoveEnded();
  uint64_t woken = 0;
  while (read(wake_, &woken, sizeof(woken)) < 0 && errno == EINTR) {
  }
  TakeNewcomers();
  const std::lock_guard lock(mutex_);
  return !stopping_;
}

void HttpLoop::TakeNewcomers() {
  std::vector<int> taken;
  {
    const std::lock_guard lock(mutex_);
    taken.swap(newcomers_);
  }
  keeps_up_.notify_all();
  for (const int socket : taken) {
    MakeRoom();
    connections_.push_back(
        {.socket = socket, .end = Clock::now() + limits_.head_time});
    // Most have sent their request by now.
    Serve(connections_.back());
  }
  AnswerAsked();
  RemoveEnded();
}

void HttpLoop::MakeRoom() {
  if (connections_.size() < limits_.max_connections) return;
  AnswerAsked();
  const auto silent = std::find_if(connections_.begin(), connections_.end(),
                                   [](const Connection& connection) {
                                     return connection.stage == Stage::kReading;
                                   });
  (silent != connections_.end() ? *silent : connections_.front()).stage =
      Stage::kEnded;
  RemoveEnded();
}

void HttpLoop::Serve(Connection& connection) {
  switch (connection.stage) {
    case Stage::kReading:
      return Read(connection);
    case Stage::kReplying:
      return Write(connection);
    case Stage::kLeaving:
      return Leave(connection);
    default:
      return;
  }
}

void HttpLoop::Read(Connection& connection) {
  char bytes[kChunkBytes];
  const ssize_t got = recv(connection.socket, bytes, sizeof(bytes), 0);
  if (got <= 0) {
    if (got == 0 || !WouldBlock()) connection.stage = Stage::kEnded;
    return;
  }
  connection.head.append(bytes, got);
  const size_t length = HttpHeadLength(connection.head);
  if (length == absl::string_view::npos &&
      connection.head.size() < limits_.max_head_bytes) {
    return;
  }
  // One that is too long stays without an end, and is no request.
  connection.head.resize(
      std::min({length, connection.head.size(), limits_.max_head_bytes}));
  connection.stage = Stage::kAsked;
}

void HttpLoop::AnswerAsked() {
  std::vector<Connection*> asked;
  std::vector<std::optional<HttpRequest>> requests;
  for (Connection& connection : connections_) {
    if (connection.stage != Stage::kAsked) continue;
    asked.push_back(&connection);
    requests.push_back(ParseHttpHead(connection.head));
  }
  if (asked.empty()) return;
  std::vector<std::string> replies = answer_(requests);
  for (size_t i = 0; i < asked.size(); ++i) {
    asked[i]->reply = std::move(replies[i]);
    asked[i]->stage = Stage::kReplying;
    asked[i]->end = Clock::now() + limits_.reply_time;
    Write(*asked[i]);
  }
}

void HttpLoop::Write(Connection& connection) {
  while (connection.sent < connection.reply.size()) {
    const ssize_t sent =
        send(connection.socket, connection.reply.data() + connection.sent,
             connection.reply.size() - connection.sent, MSG_NOSIGNAL);
    if (sent < 0) {
      if (!WouldBlock()) connection.stage = Stage::kEnded;
      return;
    }
    connection.sent += sent;
  }
  shutdown(connection.socket, SHUT_WR);
  connection.stage = Stage::kLeaving;
}

void HttpLoop::Leave(Connection& connection) {
  char bytes[kChunkBytes];
  const ssize_t got = recv(connection.socket, bytes, sizeof(bytes), 0);
  if (got == 0 || (got < 0 && !WouldBlock())) connection.stage = Stage::kEnded;
}

void HttpLoop::RemoveEnded() {
  const auto now = Clock::now();
  for (auto it = connections_.begin(); it != connections_.end();) {
    if (it->stage != Stage::kEnded && now < it->end) {
      ++it;
      continue;
    }
    // The listener keeps a descriptor of its own until it hears of this.
    shutdown(it->socket, SHUT_RDWR);
    close(it->socket);
    it = connections_.erase(it);
  }
}

int HttpLoop::MillisToFirstEnd() const {
  if (connections_.empty()) return -1;
  auto first = Clock::time_point::max();
  for (const Connection& connection : connections_) {
    first = std::min(first, connection.end);
  }
  const auto left =
      std::chrono::ceil<std::chrono::milliseconds>(first - Clock::now());
  return static_cast<int>(std::max<int64_t>(0, left.count()));
}

}  // namespace locus::server
