#include "server/http/http_server.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <deque>
#include <optional>
#include <unordered_map>
#include <utility>

#include "core/base/status.h"
#include "server/base/clock.h"
#include "server/http/http_connection.h"
#include "server/http/http_transport.h"

namespace locus::server {
namespace {

// The HTTP server uses at most this share of the process's file descriptors.
constexpr size_t kMinDescriptorsPerConnection = 8;
constexpr size_t kMinConnections = 4;

size_t AllowedConnections(size_t max_connections) {
  rlimit descriptors{};
  if (getrlimit(RLIMIT_NOFILE, &descriptors) != 0 ||
      descriptors.rlim_cur == RLIM_INFINITY) {
    return max_connections;
  }
  return std::min<size_t>(
      max_connections,
      std::max<size_t>(kMinConnections,
                       descriptors.rlim_cur / kMinDescriptorsPerConnection));
}

}  // namespace

// Runs on the loop's thread, except for the constructor and Start().
class HttpServer::Impl {
 public:
  Impl(std::shared_ptr<EventLoop> loop, const HttpServerOptions& options,
       HttpRouter router)
      : loop_(std::move(loop)),
        limits_(options.limits),
        max_connections_(AllowedConnections(options.limits.max_connections)),
        router_(std::move(router)),
        transports_(loop_.get(), options.tls),
        retry_(loop_.get()),
        environment_{
            .loop = loop_,
            .router = &router_,
            .limits = &limits_,
            .requires_client_certificate =
                options.tls != nullptr &&
                options.tls->requires_client_certificate(),
            .on_closed = [this](HttpConnection* one) { OnClosed(one); }} {}

  ~Impl() {
    loop_->Stop([this] { CloseAll(); });
  }

  absl::Status Start(absl::string_view address) {
    LOCUS_ASSIGN_OR_RETURN(acceptor_, TcpAcceptor::Bind(loop_.get(), address));
    loop_->Post([this] {
      acceptor_->Start([this](int descriptor) { OnAccept(descriptor); },
                       [this] { EvictOne(); });
    });
    return absl::OkStatus();
  }

  int port() const { return acceptor_->port(); }

 private:
  void OnAccept(int descriptor) {
    pending_.push_back(descriptor);
    Admit();
  }

  // Starts connections that are accepted and pending. If there is no room and
  // no connection may be closed yet, accepting pauses.
  void Admit() {
    while (!pending_.empty()) {
      if (connections_.size() >= max_connections_ && !EvictOne()) {
        acceptor_->Pause();
        retry_.Start(TimeToNextVictim(), [this] { Admit(); });
        return;
      }
      const int descriptor = pending_.front();
      pending_.pop_front();
      Open(descriptor);
    }
    acceptor_->Resume();
  }

  void Open(int descriptor) {
    std::unique_ptr<HttpTransport> transport = transports_.Make(descriptor);
    if (transport == nullptr) return;
    auto connection =
        std::make_shared<HttpConnection>(&environment_, std::move(transport));
    connections_[connection.get()] = connection;
    connection->Start();
  }

  // Closes the connection that has been idle for longest. Returns false if none
  // may be closed.
  bool EvictOne() {
    HttpConnection* const victim = FindVictim();
    if (victim == nullptr) return false;
    evicting_ = true;
    victim->Close();
    evicting_ = false;
    return true;
  }

  bool IsProtected(const HttpConnection& connection,
                   Clock::time_point now) const {
    return connection.waiting() != HttpConnection::Waiting::kBetweenRequests &&
           now - connection.phase_start() < limits_.eviction_grace;
  }

  // Returns the connection to close if there are too many: one that waits
  // between requests, else one whose request is incomplete, else one whose
  // client does not read, else any; among several, the one without activity for
  // longest. Returns null if all are too young.
  HttpConnection* FindVictim() const {
    const auto now = Clock::now();
    const auto order = [](const HttpConnection& one) {
      return std::pair(one.waiting(), one.last_activity());
    };
    HttpConnection* victim = nullptr;
    for (const auto& [candidate, owner] : connections_) {
      if (IsProtected(*candidate, now)) continue;
      if (victim == nullptr || order(*candidate) < order(*victim)) {
        victim = candidate;
      }
    }
    return victim;
  }

  Clock::duration TimeToNextVictim() const {
    auto first = Clock::time_point::max();
    for (const auto& [connection, owner] : connections_) {
      first = std::min(first, connection->phase_start());
    }
    return std::max<Clock::duration>(
        first + limits_.eviction_grace - Clock::now(),
        std::chrono::milliseconds(1));
  }

  void OnClosed(HttpConnection* connection) {
    connections_.erase(connection);
    if (!closing_ && !evicting_ && !pending_.empty()) Admit();
  }

  void CloseAll() {
    closing_ = true;
    if (acceptor_ != nullptr) acceptor_->Close();
    retry_.Cancel();
    for (const int descriptor : pending_) close(descriptor);
    pending_.clear();
    const auto connections = std::exchange(connections_, {});
    for (const auto& [connection, owner] : connections) connection->Close();
  }

  const std::shared_ptr<EventLoop> loop_;
  const HttpLimits limits_;
  const size_t max_connections_;
  const HttpRouter router_;
  HttpTransportFactory transports_;
  EventTimer retry_;
  const HttpConnection::Environment environment_;
  std::unique_ptr<TcpAcceptor> acceptor_;
  std::unordered_map<HttpConnection*, std::shared_ptr<HttpConnection>>
      connections_;
  std::deque<int> pending_;  // accepted, waiting for room
  bool evicting_ = false;
  bool closing_ = false;
};

HttpServer::HttpServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
HttpServer::~HttpServer() = default;

int HttpServer::port() const { return impl_->port(); }

absl::StatusOr<std::unique_ptr<HttpServer>> HttpServer::Start(
    std::shared_ptr<EventLoop> loop, const HttpServerOptions& options,
    HttpRouter router) {
  auto impl =
      std::make_unique<Impl>(std::move(loop), options, std::move(router));
  LOCUS_RETURN_IF_ERROR(impl->Start(options.address));
  return std::unique_ptr<HttpServer>(new HttpServer(std::move(impl)));
}

}  // namespace locus::server
