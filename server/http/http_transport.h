// The bytes of an HTTP connection, in plaintext or over TLS. Implemented with
// Boost.Asio.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>

#include "absl/strings/string_view.h"
#include "server/http/event_loop.h"
#include "server/net/tls.h"

namespace locus::server {

// Must be used on the loop's thread only. Callbacks run there, never within the
// call that registers them. A transport and the buffers of its operations must
// stay valid until the callbacks have run; every callback runs, with failure
// after Close(). At most one read and one write may be in progress.
class HttpTransport {
 public:
  // `bytes` is 0 at the end of the input. Not `ok` if the connection is broken.
  using Done = std::function<void(bool ok, size_t bytes)>;

  virtual ~HttpTransport() = default;
  // Performs the TLS handshake; does nothing in plaintext.
  virtual void Handshake(std::function<void(bool ok)> done) = 0;
  // Reads at least one byte.
  virtual void Read(char* buffer, size_t size, Done done) = 0;
  // Writes at least one byte of `first` followed by `second`, of which only one
  // may be empty.
  virtual void Write(absl::string_view first, absl::string_view second,
                     Done done) = 0;
  // Makes a read in progress fail.
  virtual void CancelRead() = 0;
  // Tells the client that no more data follows. No other operation may be in
  // progress.
  virtual void ShutdownSend(std::function<void()> done) = 0;
  // Reads and discards bytes after ShutdownSend().
  virtual void Discard(Done done) = 0;
  virtual void Close() = 0;
  // Returns true if the client has presented a certificate that one of the
  // authorities of --tls-client-ca has issued.
  virtual bool client_verified() const = 0;
};

// Makes transports, with the certificates that are current when a connection is
// accepted.
class HttpTransportFactory {
 public:
  // `tls` may be null, for plaintext. Both must outlive the factory.
  HttpTransportFactory(EventLoop* loop, const TlsStore* tls);
  ~HttpTransportFactory();
  HttpTransportFactory(const HttpTransportFactory&) = delete;
  HttpTransportFactory& operator=(const HttpTransportFactory&) = delete;

  // Takes ownership of the descriptor. Returns null on failure.
  std::unique_ptr<HttpTransport> Make(int descriptor);

 private:
  class TlsContexts;
  EventLoop* const loop_;
  const std::unique_ptr<TlsContexts> contexts_;
};

}  // namespace locus::server
