// Limits on the number and the time of connections.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "server/http/http_response.h"
#include "tests/server/http/http_testing.h"

namespace locus::server {
namespace {

using std::chrono::milliseconds;
using ::testing::EndsWith;
using ::testing::StartsWith;

// More than the socket buffers of the system hold.
constexpr size_t kBigBytes = 80 << 20;

// Requests that wait for a response in vain.
struct Unanswered {
  std::atomic<int> count{0};
  std::vector<std::shared_ptr<HttpResponseWriter>> writers;
};

// Routes: /ok responds at once, /big with kBigBytes, /never adds to
// `unanswered`, and POST /body responds after the body.
std::unique_ptr<HttpServer> StartLimited(
    const HttpLimits& limits, const std::shared_ptr<Unanswered>& unanswered =
                                  std::make_shared<Unanswered>()) {
  HttpRouter router;
  HttpRoute ok;
  ok.handler = [](const HttpRequest&, const auto& writer) {
    writer->Send(HttpTextResponse(200, "ok\n"));
  };
  router.Add("/ok", ok);
  HttpRoute big;
  big.handler = [](const HttpRequest&, const auto& writer) {
    writer->Send(HttpTextResponse(200, std::string(kBigBytes, 'x')));
  };
  router.Add("/big", std::move(big));
  HttpRoute never;
  never.handler = [unanswered](const HttpRequest&,
                               std::shared_ptr<HttpResponseWriter> writer) {
    unanswered->writers.push_back(std::move(writer));
    ++unanswered->count;
  };
  router.Add("/never", std::move(never));
  ok.methods = {"POST"};
  ok.max_body_bytes = 1 << 20;
  router.Add("/body", std::move(ok));
  return StartTestServer(std::move(router), limits);
}

// Patient limits with room for `connections`.
HttpLimits Room(size_t connections, milliseconds grace = milliseconds(0)) {
  HttpLimits limits = PatientLimits();
  limits.max_connections = connections;
  limits.eviction_grace = grace;
  return limits;
}

using Clients = std::vector<std::unique_ptr<PlainClient>>;

Clients Connect(const HttpServer& server, size_t count,
                const std::string& text = "") {
  Clients clients;
  for (size_t i = 0; i < count; ++i) {
    clients.push_back(std::make_unique<PlainClient>(server.port(), 4096));
    clients.back()->Send(text);
  }
  return clients;
}

size_t CountOpen(const Clients& clients) {
  size_t open = 0;
  for (const auto& client : clients) open += client->IsClosed() ? 0 : 1;
  return open;
}

TEST(HttpConnectionLimitTest, ClosesNoneUpToTheLimit) {
  const auto server = StartLimited(Room(4));
  const Clients clients = Connect(*server, 3);
  EXPECT_THAT(Ask(*server, "GET /ok HTTP/1.1"), EndsWith("ok\n"));
  EXPECT_EQ(CountOpen(clients), 3u);
}

TEST(HttpConnectionLimitTest, ClosesTheLongestSilentAboveTheLimit) {
  const auto server = StartLimited(Room(4));
  const Clients clients = Connect(*server, 4);
  EXPECT_THAT(Ask(*server, "GET /ok HTTP/1.1"), EndsWith("ok\n"));
  EXPECT_TRUE(clients.front()->IsClosed());
  EXPECT_EQ(CountOpen(clients), 3u);
}

TEST(HttpConnectionLimitTest, SilentConnectionsDoNotBlockOthers) {
  HttpLimits limits = PatientLimits();
  const auto server = StartLimited(limits);
  const Clients silent = Connect(*server, 200);
  for (int i = 0; i < 100; ++i) {
    EXPECT_THAT(Ask(*server, "GET /ok HTTP/1.1"), EndsWith("ok\n"));
  }
  EXPECT_TRUE(silent.front()->IsClosed());
  EXPECT_FALSE(silent.back()->IsClosed());
  EXPECT_LT(CountOpen(silent), limits.max_connections);
}

TEST(HttpConnectionLimitTest, ClosesConnectionsBetweenRequestsFirst) {
  const auto server = StartLimited(Room(4));
  const Clients silent = Connect(*server, 2);
  // These have been active later than the silent ones.
  Clients idle = Connect(*server, 2, Head("GET /ok HTTP/1.1"));
  for (const auto& client : idle) {
    ASSERT_THAT(client->ReceiveResponse(), EndsWith("ok\n"));
  }
  EXPECT_THAT(Ask(*server, "GET /ok HTTP/1.1"), EndsWith("ok\n"));
  EXPECT_EQ(CountOpen(silent), 2u);
  EXPECT_TRUE(idle[0]->IsClosed());
  EXPECT_FALSE(idle[1]->IsClosed());
}

TEST(HttpConnectionLimitTest, ClosesIncompleteRequestsBeforeRunningOnes) {
  const auto unanswered = std::make_shared<Unanswered>();
  const auto server = StartLimited(Room(4), unanswered);
  const Clients running = Connect(*server, 2, Head("GET /never HTTP/1.1"));
  ASSERT_TRUE(Await([&] { return unanswered->count == 2; }));
  const Clients unread = Connect(*server, 1, Head("GET /big HTTP/1.1"));
  unread[0]->ReceiveUntil("x");
  const Clients silent = Connect(*server, 1);
  EXPECT_THAT(Ask(*server, "GET /ok HTTP/1.1"), EndsWith("ok\n"));
  EXPECT_EQ(CountOpen(silent), 0u);
  EXPECT_EQ(CountOpen(unread), 1u);
  const Clients last = Connect(*server, 1, Head("GET /never HTTP/1.1"));
  ASSERT_TRUE(Await([&] { return unanswered->count == 3; }));
  EXPECT_THAT(Ask(*server, "GET /ok HTTP/1.1"), EndsWith("ok\n"));
  EXPECT_EQ(CountOpen(running), 2u);
  EXPECT_EQ(CountOpen(last), 1u);
  // Data that was sent before the close precedes the end.
  EXPECT_LT(unread[0]->Receive().size(), kBigBytes);
}

// Other clients hold all connections. Each client sends its request a few
// milliseconds after it has connected, and must get a response although further
// clients connect meanwhile.
void ExpectAllServed(const HttpServer& server) {
  constexpr int kClients = 40;
  std::vector<std::string> responses(kClients);
  std::vector<std::thread> threads;
  for (int i = 0; i < kClients; ++i) {
    threads.emplace_back([&server, &response = responses[i]] {
      PlainClient client(server.port());
      // The delay is the behaviour under test.
      std::this_thread::sleep_for(milliseconds(5));
      client.Send(Head("GET /ok HTTP/1.1", "Connection: close\r\n"));
      response = client.Receive();
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::string& response : responses) {
    EXPECT_THAT(response, EndsWith("ok\n"));
  }
}

TEST(HttpConnectionLimitTest, ServesNewClientsBesideLingeringOnes) {
  const auto server = StartLimited(Room(64, milliseconds(500)));
  Clients held =
      Connect(*server, 64, Head("GET /ok HTTP/1.1", "Connection: close\r\n"));
  for (const auto& client : held) client->ReceiveResponse();
  ExpectAllServed(*server);
}

TEST(HttpConnectionLimitTest, ServesNewClientsBesideSilentOnes) {
  const auto server = StartLimited(Room(64, milliseconds(500)));
  const Clients held = Connect(*server, 64);
  ExpectAllServed(*server);
}

TEST(HttpConnectionLimitTest, ServesNewClientsBesideThoseThatDoNotRead) {
  const auto server = StartLimited(Room(16, milliseconds(500)));
  const Clients held = Connect(*server, 16, Head("GET /big HTTP/1.1"));
  // They read the beginning only.
  for (const auto& client : held) client->ReceiveUntil("x");
  ExpectAllServed(*server);
}

TEST(HttpConnectionLimitTest, NewConnectionsWaitWhileAllOthersAreYoung) {
  const auto server = StartLimited(Room(2, std::chrono::minutes(1)));
  Clients young = Connect(*server, 2);
  PlainClient waiting(server->port());
  waiting.Send(Head("GET /ok HTTP/1.1"));
  // The young ones are not closed for it.
  for (const auto& client : young) {
    client->Send(Head("GET /ok HTTP/1.1"));
    EXPECT_THAT(client->ReceiveResponse(), EndsWith("ok\n"));
  }
  // Now they wait between requests, so the next event makes room.
  young.pop_back();
  EXPECT_THAT(waiting.ReceiveResponse(), EndsWith("ok\n"));
}

TEST(HttpConnectionLimitTest, UsesAShareOfTheDescriptorsOnly) {
  rlimit original{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &original), 0);
  rlimit low = original;
  low.rlim_cur = 80;  // enough for 10 connections
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &low), 0);
  const auto server = StartLimited(Room(64));
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &original), 0);
  const Clients clients = Connect(*server, 20);
  EXPECT_THAT(Ask(*server, "GET /ok HTTP/1.1"), EndsWith("ok\n"));
  EXPECT_EQ(CountOpen(clients), 9u);
}

TEST(HttpTimeoutTest, ClosesSilentConnections) {
  HttpLimits limits = PatientLimits();
  limits.head_timeout = milliseconds(1);
  const auto server = StartLimited(limits);
  PlainClient silent(server->port());
  EXPECT_EQ(silent.Receive(), "");
  EXPECT_TRUE(silent.IsClosed());
}

TEST(HttpTimeoutTest, ClosesSlowHeads) {
  HttpLimits limits = PatientLimits();
  limits.head_timeout = milliseconds(200);
  const auto server = StartLimited(limits);
  PlainClient slow(server->port());
  const auto start = std::chrono::steady_clock::now();
  // Every byte comes in time, the whole head does not.
  while (!slow.IsClosed() &&
         std::chrono::steady_clock::now() - start < std::chrono::seconds(10)) {
    slow.Send("x");
    std::this_thread::sleep_for(milliseconds(5));
  }
  EXPECT_TRUE(slow.IsClosed());
}

TEST(HttpTimeoutTest, LaterRequestsHaveTheTimeoutOfHeadsToo) {
  HttpLimits limits = PatientLimits();
  limits.head_timeout = milliseconds(200);
  const auto server = StartLimited(limits);
  PlainClient client(server->port());
  client.Send(Head("GET /ok HTTP/1.1"));
  EXPECT_THAT(client.ReceiveResponse(), EndsWith("ok\n"));
  client.Send("GET");
  EXPECT_EQ(client.Receive(), "");
  EXPECT_TRUE(client.IsClosed());
}

TEST(HttpTimeoutTest, IdleConnectionsOutliveTheTimeoutOfHeads) {
  HttpLimits limits = PatientLimits();
  limits.head_timeout = milliseconds(50);
  const auto server = StartLimited(limits);
  PlainClient client(server->port());
  for (int i = 0; i < 2; ++i) {
    client.Send(Head("GET /ok HTTP/1.1"));
    EXPECT_THAT(client.ReceiveResponse(), EndsWith("ok\n"));
    // A silent connection that begins now ends after the timeout.
    PlainClient silent(server->port());
    EXPECT_EQ(silent.Receive(), "");
  }
}

TEST(HttpTimeoutTest, ClosesIdleConnections) {
  HttpLimits limits = PatientLimits();
  limits.idle_timeout = milliseconds(1);
  const auto server = StartLimited(limits);
  PlainClient client(server->port());
  client.Send(Head("GET /ok HTTP/1.1"));
  EXPECT_THAT(client.Receive(), EndsWith("ok\n"));
}

TEST(HttpTimeoutTest, ClosesSlowBodies) {
  HttpLimits limits = PatientLimits();
  limits.body_timeout = milliseconds(1);
  const auto server = StartLimited(limits);
  PlainClient client(server->port());
  client.Send(Head("POST /body HTTP/1.1", "Content-Length: 5\r\n") + "abc");
  EXPECT_EQ(client.Receive(), "");
  EXPECT_TRUE(client.IsClosed());
}

TEST(HttpTimeoutTest, ClosesClientsThatLinger) {
  HttpLimits limits = PatientLimits();
  limits.linger_timeout = milliseconds(1);
  const auto server = StartLimited(limits);
  PlainClient client(server->port());
  client.Send(Head("GET /ok HTTP/1.1", "Connection: close\r\n"));
  EXPECT_THAT(client.Receive(), EndsWith("ok\n"));
  // The server has closed its socket, so it resets the connection.
  EXPECT_TRUE(Await([&] { return client.FailsToSend(); }));
}

}  // namespace
}  // namespace locus::server
