#include "server/http/http_server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <mutex>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/support/test_server.h"

namespace locus::server {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

// Connects, and says nothing unless told.
class PlainClient {
 public:
  explicit PlainClient(int port) : socket_(socket(AF_INET, SOCK_STREAM, 0)) {
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
  // All that comes until the server hangs up.
  std::string Receive() const {
    std::string all;
    char buffer[4096];
    for (ssize_t n; (n = recv(socket_, buffer, sizeof(buffer), 0)) > 0;) {
      all.append(buffer, n);
    }
    return all;
  }
  bool Ended() const {
    char byte = 0;
    return recv(socket_, &byte, 1, MSG_DONTWAIT) == 0;
  }

 private:
  const int socket_;
};

class HttpTest : public testing::Test {
 protected:
  HttpTest() {
    auto server = HttpServer::Start(
        "127.0.0.1:0", {.metrics =
                            [this] {
                              ++made_;
                              const std::lock_guard lock(block_);
                              return std::string("a_total 1\n");
                            },
                        .is_ready = [this] { return ready_.load(); }});
    if (server.ok()) server_ = *std::move(server);
  }

  std::string Ask(const std::string& request) {
    return Exchange(server_->port(), request + "\r\n\r\n");
  }

  std::atomic<bool> ready_{true};
  std::atomic<int> made_{0};
  // Whoever has it keeps the metrics from being made.
  std::mutex block_;
  std::unique_ptr<HttpServer> server_;
};

TEST_F(HttpTest, ServesMetrics) {
  const std::string answer = Ask("GET /metrics HTTP/1.1\r\nHost: x");
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(answer, HasSubstr("text/plain; version=0.0.4"));
  EXPECT_THAT(answer, HasSubstr("\r\n\r\na_total 1\n"));
}

TEST_F(HttpTest, ReadinessFollowsTheServer) {
  EXPECT_THAT(Ask("GET /readyz HTTP/1.1"), StartsWith("HTTP/1.1 200"));
  ready_ = false;
  EXPECT_THAT(Ask("GET /readyz HTTP/1.1"), StartsWith("HTTP/1.1 503"));
  EXPECT_THAT(Ask("GET /healthz HTTP/1.1"), StartsWith("HTTP/1.1 200"));
}

TEST_F(HttpTest, RefusesOtherPathsAndMethods) {
  EXPECT_THAT(Ask("GET / HTTP/1.1"), StartsWith("HTTP/1.1 404"));
  EXPECT_THAT(Ask("GET /metrics/../etc HTTP/1.1"), StartsWith("HTTP/1.1 404"));
  EXPECT_THAT(Ask("POST /metrics HTTP/1.1\r\nContent-Length: 0"),
              StartsWith("HTTP/1.1 405"));
  EXPECT_THAT(Ask("DELETE /healthz HTTP/1.1"), StartsWith("HTTP/1.1 405"));
}

TEST_F(HttpTest, HostileInputHurtsNobody) {
  for (const std::string& request :
       {std::string("\0\xff\xfe garbage", 12),
        "GET /metrics HTTP/1.1\r\nX: " + std::string(1 << 20, 'x'),
        "GET /" + std::string(1 << 16, 'a') + " HTTP/1.1",
        std::string("GET /metrics HTTP/9.9"), std::string(5000, '\n')}) {
    EXPECT_THAT(Ask(request), testing::Not(HasSubstr("200 OK")));
  }
  EXPECT_THAT(Ask("GET /healthz HTTP/1.1"), StartsWith("HTTP/1.1 200"));
}

TEST_F(HttpTest, HeadHasNoBody) {
  const std::string answer = Ask("HEAD /metrics HTTP/1.1");
  EXPECT_THAT(answer, HasSubstr("Content-Length: 10\r\n"));
  EXPECT_THAT(answer, testing::EndsWith("\r\n\r\n"));
}

TEST_F(HttpTest, PlainClientsAreHungUpOnWhenThereAreTooMany) {
  std::vector<std::unique_ptr<PlainClient>> silent;
  for (int i = 0; i < 200; ++i) {
    silent.push_back(std::make_unique<PlainClient>(server_->port()));
    EXPECT_THAT(Ask("GET /healthz HTTP/1.1"), StartsWith("HTTP/1.1 200"));
  }
  // The first had to go, the last did not.
  EXPECT_TRUE(silent.front()->Ended());
  EXPECT_FALSE(silent.back()->Ended());
}

TEST_F(HttpTest, MetricsAreMadeOnceForThoseWhoAskTogether) {
  std::vector<std::unique_ptr<PlainClient>> clients;
  const auto ask = [&] {
    clients.push_back(std::make_unique<PlainClient>(server_->port()));
    clients.back()->Send("GET /metrics HTTP/1.1\r\n\r\n");
  };
  block_.lock();
  ask();
  while (made_ == 0) std::this_thread::yield();
  // While the first are made, the others wait.
  for (int i = 0; i < 20; ++i) ask();
  block_.unlock();
  for (const auto& client : clients) {
    EXPECT_THAT(client->Receive(), HasSubstr("a_total 1\n"));
  }
  EXPECT_LT(made_, 21);
}

TEST_F(HttpTest, ATakenPortIsAClearError) {
  const auto second =
      HttpServer::Start(absl::StrCat("127.0.0.1:", server_->port()), {});
  ASSERT_FALSE(second.ok());
  EXPECT_THAT(std::string(second.status().message()),
              HasSubstr("Address already in use"));
}

}  // namespace
}  // namespace locus::server
