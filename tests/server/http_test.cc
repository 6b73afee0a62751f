#include "server/http.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>

#include "absl/strings/str_cat.h"
#include "tests/server/test_server.h"

namespace locus::server {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

class HttpTest : public testing::Test {
 protected:
  HttpTest() {
    auto server = HttpServer::Start(
        "127.0.0.1:0", {.metrics = [] { return std::string("a_total 1\n"); },
                        .is_ready = [this] { return ready_.load(); }});
    if (server.ok()) server_ = *std::move(server);
  }

  std::string Ask(const std::string& request) {
    return Exchange(server_->port(), request + "\r\n\r\n");
  }

  std::atomic<bool> ready_{true};
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

TEST_F(HttpTest, ATakenPortIsAClearError) {
  const auto second =
      HttpServer::Start(absl::StrCat("127.0.0.1:", server_->port()), {});
  ASSERT_FALSE(second.ok());
  EXPECT_THAT(std::string(second.status().message()),
              HasSubstr("Address already in use"));
}

}  // namespace
}  // namespace locus::server
