// One connection of the HTTP server.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "server/base/clock.h"
#include "server/http/event_loop.h"
#include "server/http/http_handler.h"
#include "server/http/http_limits.h"
#include "server/http/http_parser.h"
#include "server/http/http_response.h"
#include "server/http/http_router.h"
#include "server/http/http_transport.h"

namespace locus::server {

// Reads requests and writes their responses, one request at a time, until the
// client or the server closes the connection. Pipelined requests wait in the
// buffer. While a handler works, the connection reads on, up to the size of a
// head, and so notices a client that has reset the connection.
//
// Must be used on the loop's thread only. Asynchronous operations keep the
// connection alive until Close().
class HttpConnection : public std::enable_shared_from_this<HttpConnection> {
 public:
  // State that all connections of a server share. The pointers outlive them.
  struct Environment {
    std::shared_ptr<EventLoop> loop;
    const HttpRouter* router;
    const HttpLimits* limits;
    // Whether routes need a client certificate, unless they are exempt.
    bool requires_client_certificate = false;
    // Called once, when the connection is closed.
    std::function<void(HttpConnection*)> on_closed;
  };

  HttpConnection(const Environment* environment,
                 std::unique_ptr<HttpTransport> transport);

  void Start();
  // Closes the connection at once. Does nothing if it is closed.
  void Close();

  // Reasons to wait. If there are too many connections, those that wait for the
  // first reason are closed first.
  enum class Waiting {
    kBetweenRequests,  // has completed a request, and no further one has begun
    kForRequest,       // the request is incomplete
    kForReader,        // the client does not read the response
    kForHandler        // the response is being computed
  };
  Waiting waiting() const;
  // Time of the last byte received or sent.
  Clock::time_point last_activity() const { return last_activity_; }
  // Time when the connection was accepted, or when its last request or response
  // began.
  Clock::time_point phase_start() const { return phase_start_; }

 private:
  friend class ConnectionWriter;
  enum class State {
    kHandshake,
    kIdle,       // no byte of the next request has arrived
    kHead,       // the head of a request is incomplete
    kBody,       // the body of a request is incomplete
    kHandling,   // the response is not complete
    kLingering,  // the last response is sent; input is discarded until its end
    kClosed
  };
  struct Outgoing {
    std::string bytes;
    std::string body;  // follows `bytes`
    std::function<void(bool)> done;
  };

  absl::string_view buffered() const;
  void Consume(size_t bytes);
  // Starts a read if there is room in the buffer and none is in progress.
  void Read();
  void OnRead(bool ok, size_t bytes);
  void CloseAfter(std::chrono::milliseconds timeout);

  // Processes the buffer as far as possible.
  void Process();
  void BeginRequest();
  // Returns true if a head was parsed and the next state is kBody or kHandling.
  bool ProcessHead();
  void OnHead();
  void ProcessBody();
  // Returns the response to a request that does not reach a handler.
  std::optional<HttpResponse> CheckRequest(const HttpRoute* route);
  void Dispatch();
  // Responds with an error and closes the connection afterwards.
  void Fail(int status);
  void Respond(HttpResponse response);

  // Functions of ConnectionWriter. They do nothing if the request `id` is no
  // longer the current one.
  void SendResponse(uint64_t id, HttpResponse response);
  void StartResponse(uint64_t id, HttpResponse head);
  void WritePiece(uint64_t id, std::string piece,
                  std::function<void(bool)> done);
  void FinishResponse(uint64_t id);
  void Abandon(uint64_t id);
  void SetOnClosed(uint64_t id, std::function<void()> on_closed);

  bool IsCurrent(uint64_t id, bool started) const;
  void Enqueue(std::string bytes, std::string body,
               std::function<void(bool)> done);
  void WriteSome();
  void OnWritten(bool ok, size_t bytes);
  void EndRequest();
  // Discards input until the client closes its side. Closing a socket with
  // unread input resets the connection, and the client could lose the response
  // (RFC 9112, section 9.6).
  void BeginLingering();
  void Linger();
  void DiscardInput();

  const Environment& environment_;
  const HttpLimits& limits_;
  const std::unique_ptr<HttpTransport> transport_;
  EventTimer timer_;
  State state_ = State::kHandshake;
  Clock::time_point last_activity_;
  Clock::time_point phase_start_;

  // Input. The bytes of buffer_ before consumed_ are processed.
  static constexpr size_t kReadBytes = 16'384;
  std::array<char, kReadBytes> chunk_;
  std::string buffer_;
  size_t consumed_ = 0;
  bool reading_ = false;
  bool at_end_ = false;

  // The current request.
  uint64_t id_ = 0;
  HttpHeadScanner scanner_;
  std::unique_ptr<HttpRequestParser> parser_;
  const HttpRoute* route_ = nullptr;
  size_t body_bytes_ = 0;  // received since the timeout was set
  bool is_head_ = false;
  bool http10_ = false;
  bool keep_alive_ = true;

  // The current response.
  bool started_ = false;
  bool finished_ = false;
  HttpFraming framing_ = HttpFraming::kLength;
  std::function<void()> on_closed_;

  std::deque<Outgoing> outgoing_;
  size_t sent_bytes_ = 0;  // of outgoing_.front()
  bool writing_ = false;
};

}  // namespace locus::server
