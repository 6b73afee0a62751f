#include "server/http/http_transport.h"

#include <openssl/ssl.h>
#include <unistd.h>

#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <string>
#include <utility>

#include "server/observability/log.h"

namespace locus::server {
namespace {

namespace ssl = boost::asio::ssl;
using boost::asio::const_buffer;
using TcpSocket = boost::asio::ip::tcp::socket;
using IoError = boost::system::error_code;

constexpr size_t kDiscardBytes = 4096;

// Returns a handler of Asio that reports the end of the input as 0 bytes. TLS
// clients often close without close_notify; responses are framed by HTTP, so
// this counts as a normal end.
auto ReadHandler(HttpTransport::Done done) {
  return [done = std::move(done)](const IoError& error, size_t bytes) {
    const bool at_end = error == boost::asio::error::eof ||
                        error == ssl::error::stream_truncated;
    done(!error || at_end, error ? 0 : bytes);
  };
}

auto WriteHandler(HttpTransport::Done done) {
  return [done = std::move(done)](const IoError& error, size_t bytes) {
    done(!error, bytes);
  };
}

std::array<const_buffer, 2> Buffers(absl::string_view first,
                                    absl::string_view second) {
  return {const_buffer(first.data(), first.size()),
          const_buffer(second.data(), second.size())};
}

// Parts that are the same with and without TLS.
class SocketTransport : public HttpTransport {
 public:
  void CancelRead() override {
    IoError ignored;
    socket().cancel(ignored);
  }
  void Discard(Done done) override {
    socket().async_read_some(boost::asio::buffer(discarded_),
                             ReadHandler(std::move(done)));
  }
  void Close() override {
    IoError ignored;
    socket().close(ignored);
  }

 protected:
  virtual TcpSocket& socket() = 0;
  void ShutdownTcp() {
    IoError ignored;
    socket().shutdown(TcpSocket::shutdown_send, ignored);
  }

 private:
  std::array<char, kDiscardBytes> discarded_;
};

class PlainTransport final : public SocketTransport {
 public:
  explicit PlainTransport(TcpSocket socket) : socket_(std::move(socket)) {}

  void Handshake(std::function<void(bool)> done) override {
    boost::asio::post(socket_.get_executor(),
                      [done = std::move(done)] { done(true); });
  }
  void Read(char* buffer, size_t size, Done done) override {
    socket_.async_read_some(boost::asio::buffer(buffer, size),
                            ReadHandler(std::move(done)));
  }
  void Write(absl::string_view first, absl::string_view second,
             Done done) override {
    socket_.async_write_some(Buffers(first, second),
                             WriteHandler(std::move(done)));
  }
  void ShutdownSend(std::function<void()> done) override {
    ShutdownTcp();
    boost::asio::post(socket_.get_executor(), std::move(done));
  }
  bool client_verified() const override { return false; }

 private:
  TcpSocket& socket() override { return socket_; }
  TcpSocket socket_;
};

class TlsTransport final : public SocketTransport {
 public:
  TlsTransport(TcpSocket socket, std::shared_ptr<ssl::context> context)
      : context_(std::move(context)), stream_(std::move(socket), *context_) {}

  void Handshake(std::function<void(bool)> done) override {
    stream_.async_handshake(
        ssl::stream_base::server,
        [done = std::move(done)](const IoError& error) { done(!error); });
  }
  void Read(char* buffer, size_t size, Done done) override {
    stream_.async_read_some(boost::asio::buffer(buffer, size),
                            ReadHandler(std::move(done)));
  }
  void Write(absl::string_view first, absl::string_view second,
             Done done) override {
    stream_.async_write_some(Buffers(first, second),
                             WriteHandler(std::move(done)));
  }
  void ShutdownSend(std::function<void()> done) override {
    // Also waits for the close_notify of the client; the caller limits the
    // time.
    stream_.async_shutdown([this, done = std::move(done)](const IoError&) {
      ShutdownTcp();
      done();
    });
  }
  bool client_verified() const override {
    // native_handle() is not const, although it changes nothing.
    SSL* const tls = const_cast<TlsTransport*>(this)->stream_.native_handle();
    const X509* const certificate = SSL_get0_peer_certificate(tls);
    return certificate != nullptr && SSL_get_verify_result(tls) == X509_V_OK;
  }

 private:
  TcpSocket& socket() override { return stream_.next_layer(); }
  const std::shared_ptr<ssl::context> context_;
  ssl::stream<TcpSocket> stream_;
};

// Returns the settings of TLS: version 1.2 or later, as on the RPC port. Client
// certificates are verified if clients present one. Sessions are not resumed,
// so that every connection is verified with the current authorities.
std::shared_ptr<ssl::context> MakeTlsContext(const TlsIdentity& identity) {
  auto context = std::make_shared<ssl::context>(ssl::context::tls_server);
  SSL_CTX* const native = context->native_handle();
  SSL_CTX_set_min_proto_version(native, TLS1_2_VERSION);
  SSL_CTX_set_options(native, SSL_OP_NO_TICKET | SSL_OP_NO_RENEGOTIATION);
  SSL_CTX_set_num_tickets(native, 0);
  SSL_CTX_set_session_cache_mode(native, SSL_SESS_CACHE_OFF);
  context->use_certificate_chain(boost::asio::buffer(identity.certificate));
  context->use_private_key(boost::asio::buffer(identity.key),
                           ssl::context::pem);
  if (!identity.client_ca.empty()) {
    context->add_certificate_authority(boost::asio::buffer(identity.client_ca));
    context->set_verify_mode(ssl::verify_peer);
  }
  return context;
}

}  // namespace

class HttpTransportFactory::TlsContexts {
 public:
  explicit TlsContexts(const TlsStore* store) : store_(*store) {}

  // Returns null if OpenSSL has never accepted an identity.
  std::shared_ptr<ssl::context> Current() {
    std::shared_ptr<const TlsIdentity> identity = store_.Current();
    if (identity == identity_) return context_;
    try {
      context_ = MakeTlsContext(*identity);
    } catch (const boost::system::system_error& error) {
      // ReadTlsIdentity() has checked the files, so this is not expected. The
      // previous identity stays in use.
      WriteLog(LogLine("error", "http_certificate_rejected")
                   .Add("error", error.what()));
    }
    identity_ = std::move(identity);
    return context_;
  }

 private:
  const TlsStore& store_;
  std::shared_ptr<const TlsIdentity> identity_;
  std::shared_ptr<ssl::context> context_;
};

HttpTransportFactory::HttpTransportFactory(EventLoop* loop, const TlsStore* tls)
    : loop_(loop),
      contexts_(tls == nullptr ? nullptr : std::make_unique<TlsContexts>(tls)) {
}
HttpTransportFactory::~HttpTransportFactory() = default;

std::unique_ptr<HttpTransport> HttpTransportFactory::Make(int descriptor) {
  TcpSocket socket(loop_->context());
  IoError error;
  // The protocol only matters for opening sockets.
  socket.assign(boost::asio::ip::tcp::v4(), descriptor, error);
  if (error) {
    close(descriptor);
    return nullptr;
  }
  if (contexts_ == nullptr) {
    return std::make_unique<PlainTransport>(std::move(socket));
  }
  std::shared_ptr<ssl::context> context = contexts_->Current();
  if (context == nullptr) return nullptr;
  return std::make_unique<TlsTransport>(std::move(socket), std::move(context));
}

}  // namespace locus::server
