// One thread that speaks HTTP with many clients and waits for none of them, so
// that those who are slow, or say nothing, keep nobody else from an answer.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "server/http/http_request.h"
#include "server/net/listener.h"

namespace locus::server {

struct HttpLimits {
  // Beyond these, whoever has been silent the longest is hung up on.
  size_t max_connections = 64;
  size_t max_head_bytes = 8192;
  // From the connection to the end of the request's head.
  std::chrono::milliseconds head_time{2000};
  // From then until the client has taken the reply and hung up.
  std::chrono::milliseconds reply_time{5000};
};

// Every connection has one request and one reply.
class HttpLoop {
 public:
  // Whole replies to requests that came together, in their order. Nothing in
  // place of a request is one that was malformed or too long.
  using Answer = std::function<std::vector<std::string>(
      const std::vector<std::optional<HttpRequest>>&)>;

  static absl::StatusOr<std::unique_ptr<HttpLoop>> Start(
      absl::string_view address, Answer answer, const HttpLimits& limits = {});
  // Hangs up on everybody.
  ~HttpLoop();
  HttpLoop(const HttpLoop&) = delete;
  HttpLoop& operator=(const HttpLoop&) = delete;

  int port() const { return listener_->port(); }

 private:
  using Clock = std::chrono::steady_clock;
  enum class Stage { kReading, kAsked, kReplying, kLeaving, kEnded };
  struct Connection {
    int socket = -1;
    Stage stage = Stage::kReading;
    Clock::time_point end;
    std::string head;
    std::string reply;
    size_t sent = 0;
  };

  HttpLoop(std::unique_ptr<Listener> listener, Answer answer,
           const HttpLimits& limits);
  void Wake() const;
  // Takes a connection from the listener, and has it wait with the next one
  // until this thread keeps up: it would refuse whom there will be room for.
  void Welcome(int connection);
  void Run();
  // False when it is time to stop.
  bool WaitAndServe();
  void TakeNewcomers();
  void MakeRoom();
  void Serve(Connection& connection);
  void Read(Connection& connection);
  void AnswerAsked();
  void Write(Connection& connection);
  // Reads what else comes, since a connection closed over unread bytes would
  // take the reply with it.
  void Leave(Connection& connection);
  void RemoveEnded();
  int MillisToFirstEnd() const;

  const Answer answer_;
  const HttpLimits limits_;
  const std::unique_ptr<Listener> listener_;
  int wake_ = -1;
  std::list<Connection> connections_;  // only of the thread; oldest first
  std::mutex mutex_;
  std::condition_variable keeps_up_;
  std::vector<int> newcomers_;  // guarded by mutex_
  bool stopping_ = false;       // guarded by mutex_
  std::thread thread_;
};

}  // namespace locus::server
