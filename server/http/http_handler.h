// The interface between the HTTP server and its endpoints.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "server/http/http_message.h"

namespace locus::server {

// Sends the response to one request, at once or later: either with Send(), or
// in pieces with Start(), any number of Write(), and Finish(). If a writer is
// destroyed before the response is complete, the server responds with 500, or
// closes the connection if it has sent a part already.
//
// Thread-safe, and valid after the connection or the server has ended; the
// functions have no effect then.
class HttpResponseWriter {
 public:
  virtual ~HttpResponseWriter() = default;

  // Sends a complete response.
  virtual void Send(HttpResponse response) = 0;

  // Starts a response of unknown length. `head.body` is its first piece.
  virtual void Start(HttpResponse head) = 0;
  // Sends a piece of the body. `done(true)` is called when the piece has been
  // passed to the socket, `done(false)` if the connection has ended. A handler
  // that waits for `done` before the next Write() holds one piece in memory,
  // however slowly the client reads. `done` runs on the server's thread, or
  // within Write() if the server has stopped.
  virtual void Write(std::string piece, std::function<void(bool)> done) = 0;
  // Ends a response that was started with Start().
  virtual void Finish() = 0;

  // Calls `on_closed` once if the connection ends before the response is
  // complete, for example to cancel the work for it. Runs on the server's
  // thread. A client that only closes its sending side still reads the
  // response, so this does not count; the next Write() reveals whether the
  // client is gone.
  virtual void OnClosed(std::function<void()> on_closed) = 0;
};

// Handles a request. Runs on the server's thread, which serves no other
// connection meanwhile: work that takes long must move to another thread, with
// the writer.
using HttpHandler =
    std::function<void(HttpRequest, std::shared_ptr<HttpResponseWriter>)>;

}  // namespace locus::server
