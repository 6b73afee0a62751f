// Responses that are completed later, in pieces, or from other threads.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

#include "server/http/http_response.h"
#include "tests/server/http/http_testing.h"

namespace locus::server {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

// A server whose route /later passes its writers to the test.
class HttpWriterTest : public testing::Test {
 protected:
  HttpWriterTest() { Restart(PatientLimits()); }

  void Restart(const HttpLimits& limits) {
    HttpRouter router;
    HttpRoute later;
    later.handler = [this](const HttpRequest&,
                           std::shared_ptr<HttpResponseWriter> writer) {
      const std::lock_guard lock(mutex_);
      writer_ = std::move(writer);
    };
    router.Add("/later", std::move(later));
    HttpRoute ok;
    ok.handler = [](const HttpRequest&, const auto& writer) {
      writer->Send(HttpTextResponse(200, "ok\n"));
    };
    router.Add("/ok", std::move(ok));
    server_ = StartTestServer(std::move(router), limits);
  }

  // Sends a request for /later and returns its writer.
  std::shared_ptr<HttpResponseWriter> Request(
      const PlainClient& client,
      const std::string& text = Head("GET /later HTTP/1.1")) {
    client.Send(text);
    std::shared_ptr<HttpResponseWriter> writer;
    EXPECT_TRUE(Await([&] {
      const std::lock_guard lock(mutex_);
      writer = std::exchange(writer_, nullptr);
      return writer != nullptr;
    }));
    return writer;
  }

  // Writes a piece and waits for its end. Returns what `done` has reported.
  static bool WriteAndWait(HttpResponseWriter& writer, std::string piece) {
    std::promise<bool> done;
    writer.Write(std::move(piece), [&](bool ok) { done.set_value(ok); });
    return done.get_future().get();
  }

  std::mutex mutex_;
  std::shared_ptr<HttpResponseWriter> writer_;  // guarded by mutex_
  std::unique_ptr<HttpServer> server_;
};

TEST_F(HttpWriterTest, CompletesLaterFromAnotherThread) {
  PlainClient client(server_->port());
  auto writer = Request(client);
  // Other connections are served meanwhile.
  EXPECT_THAT(Ask(*server_, "GET /ok HTTP/1.1"), EndsWith("ok\n"));
  writer->Send(HttpTextResponse(200, "late\n"));
  EXPECT_THAT(client.ReceiveResponse(), EndsWith("late\n"));
  client.Send(Head("GET /ok HTTP/1.1"));
  EXPECT_THAT(client.ReceiveResponse(), EndsWith("ok\n"));
}

TEST_F(HttpWriterTest, StreamsChunks) {
  PlainClient client(server_->port());
  const auto writer = Request(client);
  writer->Start({.content_type = "text/plain", .body = "one"});
  EXPECT_THAT(client.ReceiveUntil("3\r\none\r\n"),
              HasSubstr("Transfer-Encoding: chunked\r\n"));
  EXPECT_TRUE(WriteAndWait(*writer, std::string(20, 'x')));
  EXPECT_EQ(client.ReceiveUntil("x\r\n"),
            "14\r\n" + std::string(20, 'x') + "\r\n");
  // An empty piece does not end the body.
  EXPECT_TRUE(WriteAndWait(*writer, ""));
  writer->Finish();
  EXPECT_EQ(client.ReceiveUntil("0\r\n\r\n"), "0\r\n\r\n");
  client.Send(Head("GET /ok HTTP/1.1"));
  EXPECT_THAT(client.ReceiveResponse(), EndsWith("ok\n"));
}

TEST_F(HttpWriterTest, StreamsToHttp10UntilTheEndOfTheConnection) {
  PlainClient client(server_->port());
  const auto writer =
      Request(client, "GET /later HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
  writer->Start({.body = "one,"});
  writer->Write("two", nullptr);
  writer->Finish();
  const std::string response = client.Receive();
  EXPECT_THAT(response, HasSubstr("Connection: close\r\n"));
  EXPECT_THAT(response, Not(HasSubstr("chunked")));
  EXPECT_THAT(response, EndsWith("\r\n\r\none,two"));
}

TEST_F(HttpWriterTest, StreamsNoBodyForHead) {
  PlainClient client(server_->port());
  const auto writer = Request(client, Head("HEAD /later HTTP/1.1"));
  writer->Start({.body = "one"});
  EXPECT_TRUE(WriteAndWait(*writer, "two"));
  writer->Finish();
  EXPECT_THAT(client.ReceiveResponse(false), HasSubstr("chunked"));
  client.Send(Head("GET /ok HTTP/1.1"));
  EXPECT_THAT(client.ReceiveResponse(), StartsWith("HTTP/1.1 200"));
}

TEST_F(HttpWriterTest, WritesWaitForTheReader) {
  // Much more than the buffers of the sockets.
  constexpr int kPieces = 64;
  constexpr size_t kPieceBytes = 1 << 20;
  PlainClient client(server_->port(), 4096);
  const auto writer = Request(client);
  std::atomic<int> written{0};
  writer->Start({});
  std::thread producer([&] {
    for (int i = 0; i < kPieces; ++i) {
      if (!WriteAndWait(*writer, std::string(kPieceBytes, 'x'))) break;
      ++written;
    }
    writer->Finish();
  });
  // While the client does not read, others are served, and the producer is
  // blocked.
  for (int i = 0; i < 20; ++i) {
    EXPECT_THAT(Ask(*server_, "GET /ok HTTP/1.1"), EndsWith("ok\n"));
  }
  EXPECT_LT(written, kPieces);
  const std::string response = client.ReceiveUntil("\r\n0\r\n\r\n");
  producer.join();
  EXPECT_EQ(written, kPieces);
  EXPECT_GT(response.size(), kPieces * kPieceBytes);
}

TEST_F(HttpWriterTest, WriteFailsIfTheClientDoesNotRead) {
  HttpLimits limits = PatientLimits();
  limits.write_timeout = std::chrono::milliseconds(50);
  Restart(limits);
  PlainClient client(server_->port(), 4096);
  const auto writer = Request(client);
  writer->Start({});
  EXPECT_FALSE(WriteAndWait(*writer, std::string(64 << 20, 'x')));
}

TEST_F(HttpWriterTest, ReportsAConnectionThatEnds) {
  PlainClient client(server_->port());
  const auto writer = Request(client);
  std::promise<void> closed;
  writer->OnClosed([&] { closed.set_value(); });
  client.Reset();
  EXPECT_EQ(closed.get_future().wait_for(std::chrono::seconds(10)),
            std::future_status::ready);
  EXPECT_FALSE(WriteAndWait(*writer, "late"));
}

TEST_F(HttpWriterTest, AHalfClosedConnectionHasNotEnded) {
  PlainClient client(server_->port());
  const auto writer = Request(client);
  std::atomic<bool> closed{false};
  writer->OnClosed([&] { closed = true; });
  client.HalfClose();
  EXPECT_THAT(Ask(*server_, "GET /ok HTTP/1.1"), EndsWith("ok\n"));
  writer->Send(HttpTextResponse(200, "late\n"));
  EXPECT_THAT(client.Receive(), EndsWith("late\n"));
  EXPECT_FALSE(closed);
}

TEST_F(HttpWriterTest, ForgottenResponsesAreErrors) {
  PlainClient client(server_->port());
  auto writer = Request(client);
  writer.reset();
  EXPECT_THAT(client.ReceiveResponse(), StartsWith("HTTP/1.1 500"));
  // A response that has started cannot become an error, so its end is missing.
  writer = Request(client);
  writer->Start({.body = "part"});
  writer.reset();
  EXPECT_THAT(client.Receive(), Not(HasSubstr("0\r\n\r\n")));
}

TEST_F(HttpWriterTest, InvalidHeadersAreErrors) {
  PlainClient client(server_->port());
  HttpResponse split = HttpTextResponse(200, "");
  split.headers.emplace_back("X", "a\r\nInjected: b");
  Request(client)->Send(split);
  EXPECT_THAT(client.ReceiveResponse(), StartsWith("HTTP/1.1 500"));
  Request(client)->Start(split);
  const std::string response = client.ReceiveResponse();
  EXPECT_THAT(response, StartsWith("HTTP/1.1 500"));
  EXPECT_THAT(response, Not(HasSubstr("Injected")));
}

TEST_F(HttpWriterTest, SecondResponsesHaveNoEffect) {
  PlainClient client(server_->port());
  const auto writer = Request(client);
  writer->Send(HttpTextResponse(200, "first\n"));
  writer->Send(HttpTextResponse(200, "second\n"));
  EXPECT_THAT(client.ReceiveResponse(), EndsWith("first\n"));
  const auto next = Request(client);
  writer->Send(HttpTextResponse(200, "third\n"));
  next->Send(HttpTextResponse(200, "next\n"));
  EXPECT_THAT(client.ReceiveResponse(), EndsWith("next\n"));
}

TEST_F(HttpWriterTest, WritersOutliveTheServer) {
  PlainClient client(server_->port());
  const auto writer = Request(client);
  writer->Start({});
  server_.reset();
  EXPECT_FALSE(WriteAndWait(*writer, "late"));
  writer->Finish();
}

TEST_F(HttpWriterTest, StopsAtOnceWhileAClientDoesNotRead) {
  PlainClient client(server_->port(), 4096);
  const auto writer = Request(client);
  std::promise<bool> done;
  writer->Start({});
  writer->Write(std::string(64 << 20, 'x'),
                [&](bool ok) { done.set_value(ok); });
  client.ReceiveUntil("x");
  const auto start = std::chrono::steady_clock::now();
  server_.reset();
  // The timeouts of this server are a minute.
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(10));
  EXPECT_FALSE(done.get_future().get());
}

}  // namespace
}  // namespace locus::server
