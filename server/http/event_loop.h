// The thread of the HTTP server: an event loop, timers, and accepting
// connections. Implemented with Boost.Asio.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace boost::asio {
class io_context;
}  // namespace boost::asio

namespace locus::server {

// Runs functions and the completions of asynchronous operations on a thread of
// its own. Post() is thread-safe.
class EventLoop {
 public:
  // UNAVAILABLE if the process has no file descriptor or thread left.
  static absl::StatusOr<std::shared_ptr<EventLoop>> Start();
  // Stop() must have been called.
  ~EventLoop();
  EventLoop(const EventLoop&) = delete;
  EventLoop& operator=(const EventLoop&) = delete;

  // Runs `function` on the loop's thread, after all functions posted before.
  // Returns false, without running it, if Stop() has been called.
  bool Post(std::function<void()> function);

  // Runs `last` on the loop's thread, which must end all asynchronous
  // operations, and waits for the end of the thread. Later calls do nothing.
  void Stop(std::function<void()> last);

  boost::asio::io_context& context();

 private:
  class Impl;
  explicit EventLoop(std::unique_ptr<Impl> impl);
  const std::unique_ptr<Impl> impl_;
};

// A timer. Must be used on the loop's thread only.
class EventTimer {
 public:
  explicit EventTimer(EventLoop* loop);
  // Cancels the timer.
  ~EventTimer();
  EventTimer(const EventTimer&) = delete;
  EventTimer& operator=(const EventTimer&) = delete;

  // Calls `function` after `delay`, unless the timer is started again or
  // cancelled before.
  void Start(std::chrono::steady_clock::duration delay,
             std::function<void()> function);
  void Cancel();

 private:
  struct State;
  const std::shared_ptr<State> state_;
};

// Accepts TCP connections on one address. Must be used on the loop's thread
// only, except for Bind() and port().
class TcpAcceptor {
 public:
  // Binds every address of a host name without accepting connections. A
  // wildcard address binds IPv4 and IPv6 if the machine has both. Port 0
  // selects a free port. UNAVAILABLE if the address cannot be bound.
  static absl::StatusOr<std::unique_ptr<TcpAcceptor>> Bind(
      EventLoop* loop, absl::string_view address);
  ~TcpAcceptor();
  TcpAcceptor(const TcpAcceptor&) = delete;
  TcpAcceptor& operator=(const TcpAcceptor&) = delete;

  int port() const;

  // Calls `on_connection` with the descriptor of each accepted connection,
  // which it then owns. If the process has no descriptor left for a connection,
  // calls `on_exhausted`, and tries again a little later.
  void Start(std::function<void(int)> on_connection,
             std::function<void()> on_exhausted);
  // Leaves further connections in the backlog until Resume(). The address may
  // have several sockets, so that accepted connections may still follow.
  void Pause();
  void Resume();
  // Closes the sockets.
  void Close();

 private:
  class Impl;
  explicit TcpAcceptor(std::shared_ptr<Impl> impl);
  const std::shared_ptr<Impl> impl_;
};

}  // namespace locus::server
