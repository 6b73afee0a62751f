// A client and a server for tests of HTTP.
#pragma once

#include <gtest/gtest.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "server/http/event_loop.h"
#include "server/http/http_server.h"

namespace locus::server {

// Waits until `condition` holds; false after ten seconds.
inline bool Await(const std::function<bool()>& condition) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::yield();
  }
  return true;
}

// A TCP connection to a port on loopback. Reading ends after ten seconds
// without data.
class PlainClient {
 public:
  // `receive_bytes` is the size of the receive buffer; 0: the default of the
  // system.
  explicit PlainClient(int port, int receive_bytes = 0)
      : socket_(socket(AF_INET, SOCK_STREAM, 0)) {
    const timeval timeout{.tv_sec = 10, .tv_usec = 0};
    setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout));
    if (receive_bytes != 0) {
      setsockopt(socket_, SOL_SOCKET, SO_RCVBUF, &receive_bytes,
                 sizeof(receive_bytes));
    }
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (connect(socket_, reinterpret_cast<sockaddr*>(&address),
                sizeof(address)) != 0) {
      ADD_FAILURE() << "cannot connect";
    }
  }
  ~PlainClient() { close(socket_); }
  PlainClient(const PlainClient&) = delete;
  PlainClient& operator=(const PlainClient&) = delete;

  void Send(const std::string& text) const {
    size_t sent = 0;
    while (sent < text.size()) {
      const ssize_t n =
          send(socket_, text.data() + sent, text.size() - sent, MSG_NOSIGNAL);
      if (n <= 0) return;
      sent += n;
    }
  }
  // Sends `text` and waits until the kernel of the receiver has acknowledged
  // it: it is then in the receive buffer of the server's socket.
  void SendAndAwaitReceipt(const std::string& text) const {
    Send(text);
    int unacknowledged = 1;
    while (ioctl(socket_, SIOCOUTQ, &unacknowledged) == 0 &&
           unacknowledged > 0) {
      std::this_thread::yield();
    }
  }
  void HalfClose() const { shutdown(socket_, SHUT_WR); }
  // Sends a byte. Returns true if that fails, because the server has closed its
  // socket and the connection is reset.
  bool FailsToSend() const { return send(socket_, "x", 1, MSG_NOSIGNAL) < 0; }
  // Closes the connection with a reset.
  void Reset() const {
    const linger abort{.l_onoff = 1, .l_linger = 0};
    setsockopt(socket_, SOL_SOCKET, SO_LINGER, &abort, sizeof(abort));
    const int null_socket = socket(AF_INET, SOCK_STREAM, 0);
    dup2(null_socket, socket_);
    close(null_socket);
  }

  // Returns all bytes up to the end of the connection.
  std::string Receive() {
    while (ReceiveSome()) {
    }
    return std::exchange(received_, "");
  }
  // Returns one response: its head and its body, which has a Content-Length.
  // Empty if the connection ends before. Set `has_body` to false for HEAD.
  std::string ReceiveResponse(bool has_body = true) {
    size_t head_end = std::string::npos;
    while ((head_end = received_.find("\r\n\r\n")) == std::string::npos) {
      if (!ReceiveSome()) return "";
    }
    size_t length = 0;
    const size_t field = received_.find("Content-Length: ");
    if (has_body && field < head_end) {
      const size_t value = field + 16;
      if (!absl::SimpleAtoi(
              received_.substr(value, received_.find('\r', value) - value),
              &length)) {
        return "";
      }
    }
    const size_t end = head_end + 4 + length;
    while (received_.size() < end) {
      if (!ReceiveSome()) return "";
    }
    const std::string response = received_.substr(0, end);
    received_.erase(0, end);
    return response;
  }
  // Returns the bytes up to and including `text`, or all if it does not occur.
  std::string ReceiveUntil(const std::string& text) {
    size_t found = std::string::npos;
    size_t searched = 0;
    while ((found = received_.find(text, searched)) == std::string::npos) {
      searched = received_.size() - std::min(received_.size(), text.size());
      if (!ReceiveSome()) break;
    }
    const size_t end =
        found == std::string::npos ? received_.size() : found + text.size();
    const std::string result = received_.substr(0, end);
    received_.erase(0, end);
    return result;
  }
  // Returns true if the server has closed the connection.
  bool IsClosed() const {
    char byte = 0;
    const ssize_t n = recv(socket_, &byte, 1, MSG_DONTWAIT | MSG_PEEK);
    return n == 0 || (n < 0 && errno != EAGAIN && errno != EWOULDBLOCK);
  }

 private:
  bool ReceiveSome() {
    char buffer[65536];
    const ssize_t n = recv(socket_, buffer, sizeof(buffer), 0);
    if (n > 0) received_.append(buffer, n);
    return n > 0;
  }

  const int socket_;
  std::string received_;
};

// Long timeouts, so that no test depends on the speed of the machine.
inline HttpLimits PatientLimits() {
  const auto minute = std::chrono::minutes(1);
  return {.handshake_timeout = minute,
          .head_timeout = minute,
          .body_timeout = minute,
          .write_timeout = minute,
          .idle_timeout = minute,
          .linger_timeout = minute};
}

// Starts a server with these routes. Fails the test if it does not start.
inline std::unique_ptr<HttpServer> StartTestServer(
    HttpRouter router, const HttpLimits& limits = PatientLimits(),
    std::shared_ptr<EventLoop> loop = nullptr) {
  if (loop == nullptr) {
    auto started = EventLoop::Start();
    if (!started.ok()) {
      ADD_FAILURE() << started.status();
      return nullptr;
    }
    loop = *std::move(started);
  }
  auto server = HttpServer::Start(
      loop, {.address = "127.0.0.1:0", .limits = limits}, std::move(router));
  if (!server.ok()) {
    ADD_FAILURE() << server.status();
    return nullptr;
  }
  return *std::move(server);
}

// A request without a body.
inline std::string Head(const std::string& request_line,
                        const std::string& headers = "") {
  return absl::StrCat(request_line, "\r\nHost: x\r\n", headers, "\r\n");
}

// Sends a request on a connection of its own and returns the response.
inline std::string Ask(const HttpServer& server,
                       const std::string& request_line,
                       const std::string& headers = "") {
  PlainClient client(server.port());
  client.Send(
      Head(request_line, absl::StrCat(headers, "Connection: close\r\n")));
  return client.Receive();
}

}  // namespace locus::server
