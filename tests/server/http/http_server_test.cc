#include "server/http/http_server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/support/test_server.h"

namespace locus::server {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

// A TCP connection to a port on loopback.
class PlainClient {
 public:
  explicit PlainClient(int port) : socket_(socket(AF_INET, SOCK_STREAM, 0)) {
    // Receive() ends after ten seconds without data.
    const timeval timeout{.tv_sec = 10, .tv_usec = 0};
    setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
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
    send(socket_, text.data(), text.size(), MSG_NOSIGNAL);
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
  // Returns all bytes up to the end of the connection.
  std::string Receive() const {
    std::string all;
    char buffer[4096];
    for (ssize_t n; (n = recv(socket_, buffer, sizeof(buffer), 0)) > 0;) {
      all.append(buffer, n);
    }
    return all;
  }
  // Returns true if the server has closed the connection.
  bool IsClosed() const {
    char byte = 0;
    return recv(socket_, &byte, 1, MSG_DONTWAIT) == 0;
  }

 private:
  const int socket_;
};

class HttpServerTest : public testing::Test {
 protected:
  HttpServerTest() {
    // Long timeouts, so that no test depends on the speed of the machine.
    auto server =
        HttpServer::Start("127.0.0.1:0",
                          {.metrics =
                               [this] {
                                 ++renderings_;
                                 const std::lock_guard lock(rendering_mutex_);
                                 return std::string("a_total 1\n");
                               },
                           .is_ready = [this] { return ready_.load(); }},
                          {.head_timeout = std::chrono::minutes(1),
                           .response_timeout = std::chrono::minutes(1)});
    if (server.ok()) server_ = *std::move(server);
  }

  std::string Request(const std::string& request) {
    return Exchange(server_->port(), request + "\r\n\r\n");
  }

  std::atomic<bool> ready_{true};
  // Renderings of the metrics that have started.
  std::atomic<int> renderings_{0};
  // Held by a test, it blocks the rendering of the metrics, and with it the
  // server's thread.
  std::mutex rendering_mutex_;
  std::unique_ptr<HttpServer> server_;
};

TEST_F(HttpServerTest, ServesMetrics) {
  const std::string response = Request("GET /metrics HTTP/1.1\r\nHost: x");
  EXPECT_THAT(response, StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(response, HasSubstr("text/plain; version=0.0.4"));
  EXPECT_THAT(response, HasSubstr("\r\n\r\na_total 1\n"));
}

TEST_F(HttpServerTest, ReadinessFollowsTheServer) {
  EXPECT_THAT(Request("GET /readyz HTTP/1.1"), StartsWith("HTTP/1.1 200"));
  ready_ = false;
  EXPECT_THAT(Request("GET /readyz HTTP/1.1"), StartsWith("HTTP/1.1 503"));
  EXPECT_THAT(Request("GET /healthz HTTP/1.1"), StartsWith("HTTP/1.1 200"));
}

TEST_F(HttpServerTest, RejectsOtherPathsAndMethods) {
  EXPECT_THAT(Request("GET / HTTP/1.1"), StartsWith("HTTP/1.1 404"));
  EXPECT_THAT(Request("GET /metrics/../etc HTTP/1.1"),
              StartsWith("HTTP/1.1 404"));
  EXPECT_THAT(Request("POST /metrics HTTP/1.1\r\nContent-Length: 0"),
              StartsWith("HTTP/1.1 405"));
  EXPECT_THAT(Request("DELETE /healthz HTTP/1.1"), StartsWith("HTTP/1.1 405"));
}

TEST_F(HttpServerTest, SurvivesHostileInput) {
  for (const std::string& request :
       {std::string("\0\xff\xfe garbage", 12),
        "GET /metrics HTTP/1.1\r\nX: " + std::string(1 << 20, 'x'),
        "GET /" + std::string(1 << 16, 'a') + " HTTP/1.1",
        std::string("GET /metrics HTTP/9.9"), std::string(5000, '\n')}) {
    EXPECT_THAT(Request(request), testing::Not(HasSubstr("200 OK")));
  }
  EXPECT_THAT(Request("GET /healthz HTTP/1.1"), StartsWith("HTTP/1.1 200"));
}

TEST_F(HttpServerTest, RespondsToHeadWithoutBody) {
  const std::string response = Request("HEAD /metrics HTTP/1.1");
  EXPECT_THAT(response, HasSubstr("Content-Length: 10\r\n"));
  EXPECT_THAT(response, testing::EndsWith("\r\n\r\n"));
}

TEST_F(HttpServerTest, ClosesOldestSilentConnectionAboveTheLimit) {
  std::vector<std::unique_ptr<PlainClient>> silent;
  for (int i = 0; i < 200; ++i) {
    silent.push_back(std::make_unique<PlainClient>(server_->port()));
    EXPECT_THAT(Request("GET /healthz HTTP/1.1"), StartsWith("HTTP/1.1 200"));
  }
  EXPECT_TRUE(silent.front()->IsClosed());
  EXPECT_FALSE(silent.back()->IsClosed());
}

TEST_F(HttpServerTest, ClosesSlowConnectionsAfterTheTimeout) {
  const auto server = HttpServer::Start(
      "127.0.0.1:0", {}, {.head_timeout = std::chrono::milliseconds(1)});
  ASSERT_TRUE(server.ok()) << server.status();
  const PlainClient silent((*server)->port());
  EXPECT_EQ(silent.Receive(), "");
  EXPECT_TRUE(silent.IsClosed());
}

TEST_F(HttpServerTest, RendersMetricsOncePerBatch) {
  std::vector<std::unique_ptr<PlainClient>> clients;
  for (int i = 0; i < 21; ++i) {
    clients.push_back(std::make_unique<PlainClient>(server_->port()));
  }
  // The server takes connections in their order, so all of the above are open
  // when it responds to this one.
  EXPECT_THAT(Request("GET /healthz HTTP/1.1"), StartsWith("HTTP/1.1 200"));

  const std::string request = "GET /metrics HTTP/1.1\r\n\r\n";
  rendering_mutex_.lock();
  clients[0]->Send(request);
  while (renderings_ == 0) std::this_thread::yield();
  // These requests arrive while the server renders the first response, so they
  // form the next batch.
  for (int i = 1; i < 21; ++i) clients[i]->SendAndAwaitReceipt(request);
  rendering_mutex_.unlock();
  for (const auto& client : clients) {
    EXPECT_THAT(client->Receive(), HasSubstr("a_total 1\n"));
  }
  EXPECT_EQ(renderings_, 2);
}

TEST_F(HttpServerTest, ReportsPortInUse) {
  const auto second =
      HttpServer::Start(absl::StrCat("127.0.0.1:", server_->port()), {});
  ASSERT_FALSE(second.ok());
  EXPECT_THAT(std::string(second.status().message()),
              HasSubstr("Address already in use"));
}

}  // namespace
}  // namespace locus::server
