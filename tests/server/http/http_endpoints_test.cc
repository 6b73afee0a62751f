#include "server/http/http_endpoints.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/server/http/http_testing.h"
#include "tests/support/temporary_folder.h"

namespace locus::server {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class HttpEndpointsTest : public testing::Test {
 protected:
  HttpEndpointsTest() {
    auto loop = EventLoop::Start();
    if (!loop.ok()) return;
    HttpRouter router;
    AddOperatorEndpoints(
        {.metrics =
             [this](MetricsFormat format) {
               ++renderings_;
               const std::lock_guard lock(rendering_mutex_);
               return std::string(format == MetricsFormat::kOpenMetrics
                                      ? "open_total 1\n# EOF\n"
                                      : "a_total 1\n");
             },
         .is_ready = [this] { return ready_.load(); }},
        *loop, &router);
    server_ = StartTestServer(std::move(router), PatientLimits(), *loop);
  }

  std::atomic<bool> ready_{true};
  // Renderings of the metrics that have started.
  std::atomic<int> renderings_{0};
  // Held by a test, it blocks the rendering of the metrics, and with it the
  // server's thread.
  std::mutex rendering_mutex_;
  std::unique_ptr<HttpServer> server_;
};

TEST_F(HttpEndpointsTest, ServesMetrics) {
  const std::string response = Ask(*server_, "GET /metrics HTTP/1.1");
  EXPECT_THAT(response, StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(
      response,
      HasSubstr("Content-Type: text/plain; version=0.0.4; charset=utf-8\r\n"));
  EXPECT_THAT(response, HasSubstr("Vary: Accept\r\n"));
  EXPECT_THAT(response, EndsWith("\r\n\r\na_total 1\n"));
}

TEST_F(HttpEndpointsTest, ServesOpenMetrics) {
  const std::string response = Ask(*server_, "GET /metrics HTTP/1.1",
                                   "Accept: application/openmetrics-text\r\n");
  EXPECT_THAT(response, HasSubstr("Content-Type: application/openmetrics-text; "
                                  "version=1.0.0; charset=utf-8\r\n"));
  EXPECT_THAT(response, EndsWith("\r\n\r\nopen_total 1\n# EOF\n"));
}

TEST_F(HttpEndpointsTest, ReadinessFollowsTheServer) {
  EXPECT_THAT(Ask(*server_, "GET /readyz HTTP/1.1"), EndsWith("ok\n"));
  ready_ = false;
  const std::string response = Ask(*server_, "GET /readyz HTTP/1.1");
  EXPECT_THAT(response, StartsWith("HTTP/1.1 503"));
  EXPECT_THAT(response, EndsWith("draining\n"));
  EXPECT_THAT(Ask(*server_, "GET /healthz HTTP/1.1"), EndsWith("ok\n"));
  EXPECT_THAT(Ask(*server_, "GET /livez HTTP/1.1"), EndsWith("ok\n"));
}

TEST_F(HttpEndpointsTest, RejectsOtherMethods) {
  for (const std::string path : {"/metrics", "/livez", "/healthz", "/readyz"}) {
    EXPECT_THAT(
        Ask(*server_, "POST " + path + " HTTP/1.1", "Content-Length: 0\r\n"),
        StartsWith("HTTP/1.1 405"));
  }
}

TEST_F(HttpEndpointsTest, RendersMetricsOnceForRequestsThatWait) {
  std::vector<std::unique_ptr<PlainClient>> clients;
  for (int i = 0; i < 21; ++i) {
    clients.push_back(std::make_unique<PlainClient>(server_->port()));
  }
  // The server takes connections in their order, so all of the above are open
  // when it responds to this one.
  EXPECT_THAT(Ask(*server_, "GET /healthz HTTP/1.1"), EndsWith("ok\n"));

  const std::string request = Head("GET /metrics HTTP/1.1");
  rendering_mutex_.lock();
  clients[0]->Send(request);
  EXPECT_TRUE(Await([&] { return renderings_ == 1; }));
  // These requests arrive while the server renders the first response, so they
  // share the next one.
  for (int i = 1; i < 21; ++i) clients[i]->SendAndAwaitReceipt(request);
  rendering_mutex_.unlock();
  for (const auto& client : clients) {
    EXPECT_THAT(client->ReceiveResponse(), EndsWith("a_total 1\n"));
  }
  EXPECT_EQ(renderings_, 2);
}

TEST_F(HttpEndpointsTest, LimitsTheRateOfRenderings) {
  const auto start = std::chrono::steady_clock::now();
  PlainClient client(server_->port());
  for (int i = 0; i < 20; ++i) {
    client.Send(Head("GET /metrics HTTP/1.1"));
    EXPECT_THAT(client.ReceiveResponse(), EndsWith("a_total 1\n"));
  }
  // One rendering per 10 ms; the first does not wait.
  EXPECT_GE(std::chrono::steady_clock::now() - start,
            std::chrono::milliseconds(190));
}

TEST(HttpEndpointsTokenTest, MetricsNeedATokenAndProbesDoNot) {
  const TemporaryFolder folder;
  const std::string path = folder.Write("tokens", "0123456789abcdef\n");
  const auto auth = Authenticator::Open(path, {});
  ASSERT_TRUE(auth.ok()) << auth.status();
  auto loop = EventLoop::Start();
  ASSERT_TRUE(loop.ok());
  HttpRouter router;
  AddOperatorEndpoints({.metrics = [](MetricsFormat) { return "secret\n"; },
                        .is_ready = [] { return true; },
                        .auth = auth->get()},
                       *loop, &router);
  const auto server =
      StartTestServer(std::move(router), PatientLimits(), *loop);
  for (const std::string header :
       {"", "Authorization: Bearer wrong-0123456789\r\n"}) {
    const std::string response = Ask(*server, "GET /metrics HTTP/1.1", header);
    EXPECT_THAT(response, StartsWith("HTTP/1.1 401"));
    EXPECT_THAT(response, HasSubstr("WWW-Authenticate: Bearer\r\n"));
  }
  const std::string token = "Authorization: Bearer 0123456789abcdef\r\n";
  EXPECT_THAT(Ask(*server, "GET /metrics HTTP/1.1", token),
              EndsWith("secret\n"));
  EXPECT_THAT(Ask(*server, "GET /metrics HTTP/1.1", token + token),
              StartsWith("HTTP/1.1 400"));
  for (const std::string probe : {"/livez", "/healthz", "/readyz"}) {
    EXPECT_THAT(Ask(*server, "GET " + probe + " HTTP/1.1"), EndsWith("ok\n"));
  }
}

TEST(MetricsFormatTest, FollowsTheAcceptHeader) {
  for (const std::string accept :
       {"application/openmetrics-text",
        "Application/OpenMetrics-Text; version=1.0.0; charset=utf-8",
        "application/openmetrics-text;version=0.0.1,text/plain;q=0.5",
        "application/openmetrics-text;version=1.0.0;q=0.75,"
        "application/openmetrics-text;version=0.0.1;q=0.75,"
        "text/plain;version=0.0.4;q=0.5,*/*;q=0.1"}) {
    EXPECT_EQ(ChooseMetricsFormat(accept), MetricsFormat::kOpenMetrics)
        << accept;
  }
  for (const std::string accept :
       {"", "*/*", "text/plain", "text/html, */*;q=0.8",
        "application/openmetrics-text;q=0", "application/openmetrics-text;q=x",
        "application/openmetrics-text;version=2.0.0",
        "application/openmetrics-text;q=0.2,text/plain;q=0.3",
        "x-application/openmetrics-text"}) {
    EXPECT_EQ(ChooseMetricsFormat(accept), MetricsFormat::kPrometheus)
        << accept;
  }
}

}  // namespace
}  // namespace locus::server
