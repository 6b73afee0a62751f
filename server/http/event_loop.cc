#include "server/http/event_loop.h"

#include <netdb.h>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ip/v6_only.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstring>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "core/base/mutex.h"
#include "core/base/status.h"
#include "server/base/printable.h"
#include "server/config/address.h"

namespace locus::server {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using AsioError = boost::system::error_code;

constexpr int kHttpBacklog = 1024;
// Delay before the next accept() if the system has no file descriptor or memory
// left for a connection.
constexpr std::chrono::milliseconds kAcceptDelay(20);

absl::Status ListenError(absl::string_view address, absl::string_view why) {
  return absl::UnavailableError(
      absl::StrCat("cannot listen on ", Printable(address, 200), ": ", why));
}

// Returns the addresses of a host.
absl::StatusOr<std::vector<tcp::endpoint>> Resolve(absl::string_view address) {
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
    return ListenError(address, gai_strerror(error));
  }
  std::vector<tcp::endpoint> endpoints;
  for (const addrinfo* one = found; one != nullptr; one = one->ai_next) {
    tcp::endpoint endpoint;
    if (one->ai_addrlen > endpoint.capacity()) continue;
    std::memcpy(endpoint.data(), one->ai_addr, one->ai_addrlen);
    endpoint.resize(one->ai_addrlen);
    endpoints.push_back(endpoint);
  }
  freeaddrinfo(found);
  return endpoints;
}

// Opens a listening socket. TCP_NODELAY, which accepted connections inherit,
// sends small responses without delay.
AsioError OpenSocket(const tcp::endpoint& endpoint, bool dual_stack,
                     tcp::acceptor* socket) {
  AsioError error;
  AsioError ignored;
  socket->open(endpoint.protocol(), error);
  if (error) return error;
  socket->set_option(tcp::acceptor::reuse_address(true), ignored);
  socket->set_option(tcp::no_delay(true), ignored);
  if (endpoint.protocol() == tcp::v6()) {
    socket->set_option(asio::ip::v6_only(!dual_stack), ignored);
  }
  socket->bind(endpoint, error);
  if (!error) socket->listen(kHttpBacklog, error);
  if (error) socket->close(ignored);
  return error;
}

}  // namespace

class EventLoop::Impl {
 public:
  asio::io_context context{1};
  std::optional<asio::executor_work_guard<asio::io_context::executor_type>>
      work{context.get_executor()};
  Mutex mutex;
  bool stopped ABSL_GUARDED_BY(mutex) = false;
  std::thread thread;
};

EventLoop::EventLoop(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

absl::StatusOr<std::shared_ptr<EventLoop>> EventLoop::Start() {
  try {
    std::shared_ptr<EventLoop> loop(
        new EventLoop(std::make_unique<EventLoop::Impl>()));
    loop->impl_->thread =
        std::thread([impl = loop->impl_.get()] { impl->context.run(); });
    return loop;
  } catch (const std::system_error& error) {
    return absl::UnavailableError(
        absl::StrCat("cannot start the HTTP thread: ", error.what()));
  } catch (const boost::system::system_error& error) {
    return absl::UnavailableError(
        absl::StrCat("cannot start the HTTP thread: ", error.what()));
  }
}

EventLoop::~EventLoop() {
  if (impl_->thread.joinable()) Stop(nullptr);
}

bool EventLoop::Post(std::function<void()> function) {
  const MutexLock lock(&impl_->mutex);
  if (impl_->stopped) return false;
  asio::post(impl_->context, std::move(function));
  return true;
}

void EventLoop::Stop(std::function<void()> last) {
  {
    const MutexLock lock(&impl_->mutex);
    if (impl_->stopped) return;
    impl_->stopped = true;
    if (last != nullptr) asio::post(impl_->context, std::move(last));
    impl_->work.reset();
  }
  impl_->thread.join();
}

asio::io_context& EventLoop::context() { return impl_->context; }

struct EventTimer::State {
  explicit State(EventLoop* loop) : timer(loop->context()) {}
  asio::steady_timer timer;
  // Counts starts and cancellations, because a completion may already be queued
  // when its timer is cancelled.
  uint64_t generation = 0;
};

EventTimer::EventTimer(EventLoop* loop)
    : state_(std::make_shared<State>(loop)) {}
EventTimer::~EventTimer() { Cancel(); }

void EventTimer::Start(std::chrono::steady_clock::duration delay,
                       std::function<void()> function) {
  const uint64_t generation = ++state_->generation;
  state_->timer.expires_after(delay);
  state_->timer.async_wait(
      [state = state_, generation,
       function = std::move(function)](const AsioError& error) {
        if (!error && state->generation == generation) function();
      });
}

void EventTimer::Cancel() {
  ++state_->generation;
  state_->timer.cancel();
}

// One listening socket per address. Shared with its asynchronous operations.
class TcpAcceptor::Impl : public std::enable_shared_from_this<Impl> {
 public:
  explicit Impl(EventLoop* loop) : context_(loop->context()), retry_(loop) {}

  absl::Status Bind(absl::string_view address) {
    LOCUS_ASSIGN_OR_RETURN(const std::vector<tcp::endpoint> endpoints,
                           Resolve(address));
    if (endpoints.front().address().is_unspecified()) {
      const auto port = endpoints.front().port();
      const AsioError error =
          Open(tcp::endpoint(asio::ip::address_v6::any(), port), true);
      if (!error) return absl::OkStatus();
      if (error == asio::error::address_in_use) {
        return ListenError(address, error.message());
      }
    }
    AsioError last_error = asio::error::make_error_code(
        static_cast<asio::error::basic_errors>(EADDRNOTAVAIL));
    for (tcp::endpoint endpoint : endpoints) {
      if (port_ != 0) endpoint.port(static_cast<uint16_t>(port_));
      const AsioError error = Open(endpoint, false);
      if (!error) continue;
      last_error = error;
      // Skips address families that the machine does not support.
      if (error.value() != EADDRNOTAVAIL && error.value() != EAFNOSUPPORT) {
        return ListenError(address, error.message());
      }
    }
    if (sockets_.empty()) return ListenError(address, last_error.message());
    return absl::OkStatus();
  }

  int port() const { return port_; }

  void Start(std::function<void(int)> on_connection,
             std::function<void()> on_exhausted) {
    on_connection_ = std::move(on_connection);
    on_exhausted_ = std::move(on_exhausted);
    Resume();
  }

  void Pause() { paused_ = true; }

  void Resume() {
    paused_ = false;
    for (Socket& socket : sockets_) {
      if (!socket.accepting) Accept(&socket);
    }
  }

  void Close() {
    paused_ = true;
    retry_.Cancel();
    AsioError ignored;
    for (Socket& socket : sockets_) socket.acceptor.close(ignored);
    on_connection_ = nullptr;
    on_exhausted_ = nullptr;
  }

 private:
  struct Socket {
    tcp::acceptor acceptor;
    bool accepting = false;
  };

  AsioError Open(const tcp::endpoint& endpoint, bool dual_stack) {
    tcp::acceptor acceptor(context_);
    const AsioError error = OpenSocket(endpoint, dual_stack, &acceptor);
    if (error) return error;
    port_ = acceptor.local_endpoint().port();
    sockets_.push_back({std::move(acceptor)});
    return {};
  }

  void Accept(Socket* socket) {
    if (paused_ || !socket->acceptor.is_open()) return;
    socket->accepting = true;
    socket->acceptor.async_accept(
        [self = shared_from_this(), socket](const AsioError& error,
                                            tcp::socket connection) {
          self->OnAccept(socket, error, std::move(connection));
        });
  }

  void OnAccept(Socket* socket, const AsioError& error,
                tcp::socket connection) {
    socket->accepting = false;
    if (on_connection_ == nullptr) return;
    if (!error) {
      AsioError release_error;
      const int descriptor = connection.release(release_error);
      if (!release_error) on_connection_(descriptor);
    } else if (error != asio::error::connection_aborted &&
               error != asio::error::interrupted) {
      on_exhausted_();
      // Resume() retries, and does nothing for sockets that accept already.
      retry_.Start(kAcceptDelay, [self = shared_from_this()] {
        if (!self->paused_) self->Resume();
      });
      return;
    }
    Accept(socket);
  }

  asio::io_context& context_;
  EventTimer retry_;
  std::vector<Socket> sockets_;
  int port_ = 0;
  bool paused_ = false;
  std::function<void(int)> on_connection_;
  std::function<void()> on_exhausted_;
};

TcpAcceptor::TcpAcceptor(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}
TcpAcceptor::~TcpAcceptor() = default;

absl::StatusOr<std::unique_ptr<TcpAcceptor>> TcpAcceptor::Bind(
    EventLoop* loop, absl::string_view address) {
  auto impl = std::make_shared<Impl>(loop);
  LOCUS_RETURN_IF_ERROR(impl->Bind(address));
  return std::unique_ptr<TcpAcceptor>(new TcpAcceptor(std::move(impl)));
}

int TcpAcceptor::port() const { return impl_->port(); }
void TcpAcceptor::Start(std::function<void(int)> on_connection,
                        std::function<void()> on_exhausted) {
  impl_->Start(std::move(on_connection), std::move(on_exhausted));
}
void TcpAcceptor::Pause() { impl_->Pause(); }
void TcpAcceptor::Resume() { impl_->Resume(); }
void TcpAcceptor::Close() { impl_->Close(); }

}  // namespace locus::server
