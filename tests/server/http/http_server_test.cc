#include "server/http/http_server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/http/http_response.h"
#include "tests/server/http/http_testing.h"

namespace locus::server {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr size_t kMaxBodyBytes = 10;

// Routes: /ok responds "ok\n", and POST /echo with the body of the request.
HttpRouter TestRoutes() {
  HttpRouter router;
  HttpRoute ok;
  ok.handler = [](const HttpRequest&, const auto& writer) {
    writer->Send(HttpTextResponse(200, "ok\n"));
  };
  router.Add("/ok", std::move(ok));
  HttpRoute echo;
  echo.methods = {"POST"};
  echo.max_body_bytes = kMaxBodyBytes;
  echo.handler = [](const HttpRequest& request, const auto& writer) {
    writer->Send(HttpTextResponse(200, absl::StrCat("<", request.body, ">")));
  };
  router.Add("/echo", std::move(echo));
  HttpRoute checked;
  checked.max_body_bytes = kMaxBodyBytes;
  checked.check =
      [](const HttpRequest& request) -> std::optional<HttpResponse> {
    if (request.query == "open") return std::nullopt;
    return HttpTextResponse(401, "locked\n");
  };
  checked.handler = [](const HttpRequest&, const auto& writer) {
    writer->Send(HttpTextResponse(200, "unlocked\n"));
  };
  router.Add("/checked", std::move(checked));
  return router;
}

std::string Post(const std::string& body, const std::string& headers = "") {
  return absl::StrCat("POST /echo HTTP/1.1\r\nHost: x\r\n", headers,
                      "Content-Length: ", body.size(), "\r\n\r\n", body);
}

class HttpServerTest : public testing::Test {
 protected:
  std::unique_ptr<HttpServer> server_ = StartTestServer(TestRoutes());
};

TEST_F(HttpServerTest, ServesManyRequestsOnOneConnection) {
  PlainClient client(server_->port());
  for (int i = 0; i < 3; ++i) {
    client.Send(Head("GET /ok HTTP/1.1"));
    const std::string response = client.ReceiveResponse();
    EXPECT_THAT(response, StartsWith("HTTP/1.1 200 OK\r\n"));
    EXPECT_THAT(response, EndsWith("\r\n\r\nok\n"));
    EXPECT_THAT(response, Not(HasSubstr("Connection:")));
  }
  client.Send(Head("GET /ok HTTP/1.1", "Connection: close\r\n"));
  EXPECT_THAT(client.Receive(), HasSubstr("Connection: close\r\n"));
}

TEST_F(HttpServerTest, AnswersPipelinedRequestsInOrder) {
  PlainClient client(server_->port());
  std::string requests;
  for (int i = 0; i < 1000; ++i)
    absl::StrAppend(&requests, Post("a"), Post("b"));
  absl::StrAppend(&requests, Head("GET /none HTTP/1.1"),
                  Head("GET /ok HTTP/1.1", "Connection: close\r\n"),
                  Head("GET /ok HTTP/1.1"));
  client.Send(requests);
  for (int i = 0; i < 1000; ++i) {
    ASSERT_THAT(client.ReceiveResponse(), EndsWith("<a>"));
    ASSERT_THAT(client.ReceiveResponse(), EndsWith("<b>"));
  }
  EXPECT_THAT(client.ReceiveResponse(), StartsWith("HTTP/1.1 404"));
  EXPECT_THAT(client.ReceiveResponse(), EndsWith("ok\n"));
  // The server does not answer requests after Connection: close.
  EXPECT_EQ(client.Receive(), "");
}

TEST_F(HttpServerTest, AnswersRequestsThatArriveByteByByte) {
  PlainClient client(server_->port());
  for (const char c : Post("abc") + Head("GET /ok HTTP/1.1")) {
    client.SendAndAwaitReceipt(std::string(1, c));
  }
  EXPECT_THAT(client.ReceiveResponse(), EndsWith("<abc>"));
  EXPECT_THAT(client.ReceiveResponse(), EndsWith("ok\n"));
}

TEST_F(HttpServerTest, ClosesAfterRequestsOfHttp10) {
  PlainClient client(server_->port());
  client.Send("GET /ok HTTP/1.0\r\n\r\n");
  EXPECT_THAT(client.Receive(), EndsWith("\r\nConnection: close\r\n\r\nok\n"));
  PlainClient kept(server_->port());
  kept.Send("GET /ok HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
  EXPECT_THAT(kept.ReceiveResponse(), HasSubstr("Connection: keep-alive\r\n"));
  kept.Send("GET /ok HTTP/1.0\r\n\r\n");
  EXPECT_THAT(kept.Receive(), EndsWith("ok\n"));
}

TEST_F(HttpServerTest, RespondsToHeadWithoutBody) {
  PlainClient client(server_->port());
  client.Send(Head("HEAD /ok HTTP/1.1") + Head("HEAD /none HTTP/1.1") +
              Head("GET /ok HTTP/1.1"));
  EXPECT_THAT(client.ReceiveResponse(false),
              HasSubstr("Content-Length: 3\r\n"));
  EXPECT_THAT(client.ReceiveResponse(false), StartsWith("HTTP/1.1 404"));
  EXPECT_THAT(client.ReceiveResponse(), EndsWith("ok\n"));
}

TEST_F(HttpServerTest, RejectsOtherPathsAndMethods) {
  EXPECT_THAT(Ask(*server_, "GET / HTTP/1.1"), StartsWith("HTTP/1.1 404"));
  EXPECT_THAT(Ask(*server_, "GET /ok/ HTTP/1.1"), StartsWith("HTTP/1.1 404"));
  EXPECT_THAT(Ask(*server_, "GET /ok/../ok HTTP/1.1"),
              StartsWith("HTTP/1.1 404"));
  EXPECT_THAT(Ask(*server_, "GET /ok?a=b HTTP/1.1"),
              StartsWith("HTTP/1.1 200"));
  const std::string response = Ask(*server_, "DELETE /ok HTTP/1.1");
  EXPECT_THAT(response, StartsWith("HTTP/1.1 405"));
  EXPECT_THAT(response, HasSubstr("Allow: GET, HEAD\r\n"));
  EXPECT_THAT(Ask(*server_, "GET /echo HTTP/1.1"),
              HasSubstr("Allow: POST\r\n"));
}

TEST_F(HttpServerTest, IgnoresOneEmptyLineBeforeARequest) {
  EXPECT_THAT(Ask(*server_, "\r\nGET /ok HTTP/1.1"),
              StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(Ask(*server_, "\r\n\r\nGET /ok HTTP/1.1"),
              StartsWith("HTTP/1.1 400"));
}

TEST_F(HttpServerTest, RejectsMalformedRequestsWithoutWaitingForTheirEnd) {
  for (const std::string text :
       {"GET /ok HTTP/1.1\n\n", "\n", "GET /ok HTTP/1.1\r\n folded",
        "GET /ok HTTP/1.1\r\nHost: x\r\nX: a\rb"}) {
    PlainClient client(server_->port());
    client.Send(text);
    EXPECT_THAT(client.ReceiveResponse(), StartsWith("HTTP/1.1 400")) << text;
  }
}

TEST_F(HttpServerTest, SurvivesHostileInput) {
  for (const std::string& request :
       {std::string("\0\xff\xfe garbage", 12),
        "GET /ok HTTP/1.1\r\nX: " + std::string(1 << 20, 'x'),
        "GET /" + std::string(1 << 16, 'a') + " HTTP/1.1",
        std::string("GET /ok HTTP/9.9"), std::string(5000, '\n')}) {
    EXPECT_THAT(Ask(*server_, request), Not(HasSubstr("200 OK")));
  }
  EXPECT_THAT(Ask(*server_, "GET /ok HTTP/1.1"), StartsWith("HTTP/1.1 200"));
}

// A request whose head has `bytes` bytes.
std::string HeadOfSize(size_t bytes) {
  const std::string empty = Head("GET /ok HTTP/1.1", "X: \r\n");
  return Head("GET /ok HTTP/1.1",
              "X: " + std::string(bytes - empty.size(), 'x') + "\r\n");
}

TEST_F(HttpServerTest, LimitsHeadsExactly) {
  const size_t limit = HttpLimits().max_head_bytes;
  EXPECT_EQ(limit, 8192u);
  PlainClient client(server_->port());
  client.Send(HeadOfSize(limit));
  EXPECT_THAT(client.ReceiveResponse(), StartsWith("HTTP/1.1 200"));
  // The limit holds for a pipelined request, too.
  client.Send(HeadOfSize(limit) + HeadOfSize(limit + 1));
  EXPECT_THAT(client.ReceiveResponse(), StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(client.ReceiveResponse(), StartsWith("HTTP/1.1 431"));
  EXPECT_EQ(client.Receive(), "");
  // It holds for a head that arrives at once, and for one in two pieces.
  PlainClient whole(server_->port());
  whole.SendAndAwaitReceipt(HeadOfSize(limit + 1));
  EXPECT_THAT(whole.Receive(), StartsWith("HTTP/1.1 431"));
  PlainClient pieces(server_->port());
  pieces.SendAndAwaitReceipt(HeadOfSize(limit).substr(0, limit - 1));
  // The server reads the first piece before this request.
  EXPECT_THAT(Ask(*server_, "GET /ok HTTP/1.1"), StartsWith("HTTP/1.1 200"));
  pieces.Send("\n");
  EXPECT_THAT(pieces.ReceiveResponse(), StartsWith("HTTP/1.1 200"));
  // It holds without the end of the head.
  PlainClient endless(server_->port());
  endless.Send(std::string(limit - 1, 'x'));
  endless.SendAndAwaitReceipt("x");
  EXPECT_THAT(endless.Receive(), StartsWith("HTTP/1.1 431"));
}

TEST_F(HttpServerTest, LimitsBodiesExactly) {
  PlainClient client(server_->port());
  const std::string full(kMaxBodyBytes, 'a');
  client.Send(Post(full));
  EXPECT_THAT(client.ReceiveResponse(), EndsWith("<" + full + ">"));
  client.Send(Post(full + "b") + Head("GET /ok HTTP/1.1"));
  EXPECT_THAT(client.ReceiveResponse(), StartsWith("HTTP/1.1 413"));
  // The body is not taken for a request, nor are requests after it answered.
  EXPECT_EQ(client.Receive(), "");
}

TEST_F(HttpServerTest, LimitsChunkedBodiesExactly) {
  const std::string head =
      "POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n";
  PlainClient client(server_->port());
  client.Send(head + "4\r\nabcd\r\n6\r\nefghij\r\n0\r\n\r\n");
  EXPECT_THAT(client.ReceiveResponse(), EndsWith("<abcdefghij>"));
  client.Send(head + "4\r\nabcd\r\n7\r\nefghijk\r\n0\r\n\r\n");
  EXPECT_THAT(client.Receive(), StartsWith("HTTP/1.1 413"));
}

TEST_F(HttpServerTest, LimitsTheLinesOfChunks) {
  const std::string head =
      "POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n";
  for (const std::string& tail : {"1;x=" + std::string(20000, 'x'),
                                  "0\r\nX: " + std::string(20000, 'x')}) {
    PlainClient client(server_->port());
    client.Send(head + tail);
    EXPECT_THAT(client.Receive(), StartsWith("HTTP/1.1 400"));
  }
}

TEST_F(HttpServerTest, RejectsBodiesWhereNoneIsExpected) {
  PlainClient client(server_->port());
  client.Send("GET /ok HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n");
  EXPECT_THAT(client.ReceiveResponse(), StartsWith("HTTP/1.1 200"));
  client.Send("GET /ok HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\na");
  EXPECT_THAT(client.Receive(), StartsWith("HTTP/1.1 413"));
}

TEST_F(HttpServerTest, NeverTakesARejectedBodyForARequest) {
  const std::string smuggled = Head("GET /ok HTTP/1.1");
  for (const std::string line :
       {"POST /none HTTP/1.1", "POST /ok HTTP/1.1", "GET /checked HTTP/1.1"}) {
    PlainClient client(server_->port());
    client.Send(
        Head(line, absl::StrCat("Content-Length: ", smuggled.size(), "\r\n")) +
        smuggled);
    EXPECT_THAT(client.ReceiveResponse(), HasSubstr("Connection: close\r\n"));
    EXPECT_EQ(client.Receive(), "") << line;
  }
}

TEST_F(HttpServerTest, ChecksRequestsBeforeReadingTheirBodies) {
  PlainClient client(server_->port());
  client.Send(Head("GET /checked HTTP/1.1", "Content-Length: 5\r\n"));
  EXPECT_THAT(client.ReceiveResponse(), StartsWith("HTTP/1.1 401"));
  EXPECT_THAT(Ask(*server_, "GET /checked?open HTTP/1.1"),
              EndsWith("unlocked\n"));
}

TEST_F(HttpServerTest, SendsContinueBeforeTheBody) {
  PlainClient client(server_->port());
  const std::string expect = "Expect: 100-continue\r\n";
  client.Send(Head("POST /echo HTTP/1.1", expect + "Content-Length: 3\r\n"));
  EXPECT_EQ(client.ReceiveUntil("\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
  client.Send("abc");
  EXPECT_THAT(client.ReceiveResponse(), EndsWith("<abc>"));
  // A rejected request gets its final response instead.
  client.Send(Head("POST /echo HTTP/1.1", expect + "Content-Length: 11\r\n"));
  EXPECT_THAT(client.Receive(), StartsWith("HTTP/1.1 413"));
  EXPECT_THAT(Ask(*server_, "GET /ok HTTP/1.1", "Expect: tea\r\n"),
              StartsWith("HTTP/1.1 417"));
}

TEST_F(HttpServerTest, AnswersClientsThatHalfClose) {
  PlainClient client(server_->port());
  client.Send(Head("GET /ok HTTP/1.1") + Head("GET /none HTTP/1.1"));
  client.HalfClose();
  EXPECT_THAT(client.ReceiveResponse(), EndsWith("ok\n"));
  EXPECT_THAT(client.ReceiveResponse(), StartsWith("HTTP/1.1 404"));
  EXPECT_EQ(client.Receive(), "");
  PlainClient incomplete(server_->port());
  incomplete.Send("GET /ok HTTP/1.1\r\n");
  incomplete.HalfClose();
  EXPECT_EQ(incomplete.Receive(), "");
}

TEST_F(HttpServerTest, DeliversErrorsToClientsThatKeepSending) {
  // A close with unread input would reset the connection, and the client would
  // lose the response.
  PlainClient client(server_->port());
  client.Send("GET / HTTP/1.1\nmalformed" + std::string(1 << 20, 'x'));
  EXPECT_THAT(client.ReceiveResponse(), StartsWith("HTTP/1.1 400"));
  // The server still discards what the client sends. If it had closed its
  // socket, the first of these bytes would reset the connection.
  for (int i = 0; i < 3; ++i) {
    EXPECT_FALSE(client.FailsToSend());
    EXPECT_THAT(Ask(*server_, "GET /ok HTTP/1.1"), StartsWith("HTTP/1.1 200"));
  }
}

TEST_F(HttpServerTest, ReportsWhyBindFailed) {
  for (const auto& [address, reason] :
       {std::pair{absl::StrCat("127.0.0.1:", server_->port()),
                  std::string("Address already in use")},
        std::pair{std::string("192.0.2.1:0"),
                  std::string("Cannot assign requested address")},
        std::pair{absl::StrCat("0.0.0.0:", server_->port()),
                  std::string("Address already in use")}}) {
    auto loop = EventLoop::Start();
    ASSERT_TRUE(loop.ok());
    const auto second = HttpServer::Start(*loop, {.address = address}, {});
    ASSERT_FALSE(second.ok());
    EXPECT_EQ(std::string(second.status().message()),
              absl::StrCat("cannot listen on ", address, ": ", reason));
  }
}

TEST(HttpServerAddressTest, WildcardServesIpv4) {
  for (const std::string address : {"0.0.0.0:0", "[::]:0"}) {
    auto loop = EventLoop::Start();
    ASSERT_TRUE(loop.ok());
    const auto server =
        HttpServer::Start(*loop, {.address = address}, TestRoutes());
    ASSERT_TRUE(server.ok()) << server.status();
    EXPECT_THAT(Ask(**server, "GET /ok HTTP/1.1"), StartsWith("HTTP/1.1 200"));
  }
}

TEST(HttpServerAddressTest, AllAddressesOfANameShareThePort) {
  auto loop = EventLoop::Start();
  ASSERT_TRUE(loop.ok());
  const auto server =
      HttpServer::Start(*loop, {.address = "localhost:0"}, TestRoutes());
  ASSERT_TRUE(server.ok()) << server.status();
  EXPECT_NE((*server)->port(), 0);
  EXPECT_THAT(Ask(**server, "GET /ok HTTP/1.1"), StartsWith("HTTP/1.1 200"));
}

}  // namespace
}  // namespace locus::server
