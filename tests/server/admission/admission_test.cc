// Far more calls than there are places for: turned away, held at the door, let
// in.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/test_server.h"

namespace locus::server {
namespace {

// Calls of half a millisecond, many at once, each over one of several
// connections.
class Crowd {
 public:
  Crowd(int port, int connections) {
    for (int i = 0; i < connections; ++i) {
      grpc::ChannelArguments arguments;
      arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
      stubs_.push_back(v1::EvaluationService::NewStub(grpc::CreateCustomChannel(
          "127.0.0.1:" + std::to_string(port),
          grpc::InsecureChannelCredentials(), arguments)));
    }
    request_.add_schemes()->mutable_rope();
  }

  // Codes of all, however long it takes. Those that a server turned away, and
  // not only the lack of one, were told when to come back.
  std::vector<grpc::StatusCode> CallAll(int count) {
    grpc::CompletionQueue queue;
    std::deque<Answer> answers(count);
    for (int i = 0; i < count; ++i) {
      Answer& answer = answers[i];
      answer.reader = stubs_[i % stubs_.size()]->AsyncCheckProperties(
          &answer.context, request_, &queue);
      answer.reader->Finish(&answer.response, &answer.status, &answer);
    }
    std::vector<grpc::StatusCode> codes;
    void* tag = nullptr;
    bool ok = false;
    while (static_cast<int>(codes.size()) < count && queue.Next(&tag, &ok)) {
      const auto* const answer = static_cast<Answer*>(tag);
      codes.push_back(answer->status.error_code());
      if (answer->status.error_code() == grpc::UNAVAILABLE &&
          !Trailer(answer->context, "x-request-id").empty()) {
        EXPECT_TRUE(DetailsOf(answer->status).retry.has_value());
        EXPECT_NE(Trailer(answer->context, "grpc-retry-pushback-ms"), "");
        refused_after_us_.push_back(
            std::stoll(Trailer(answer->context, "locus-queue-us")));
      }
    }
    queue.Shutdown();
    return codes;
  }
  // How many were told, of all calls so far, and how long after they came.
  int told() const { return static_cast<int>(refused_after_us_.size()); }
  const std::vector<int64_t>& refused_after_us() const {
    return refused_after_us_;
  }

 private:
  struct Answer {
    grpc::ClientContext context;
    v1::CheckPropertiesResponse response;
    grpc::Status status;
    std::unique_ptr<
        grpc::ClientAsyncResponseReader<v1::CheckPropertiesResponse>>
        reader;
  };

  std::vector<std::unique_ptr<v1::EvaluationService::Stub>> stubs_;
  v1::CheckPropertiesRequest request_;
  std::vector<int64_t> refused_after_us_;
};

ServerOptions Narrow() {
  ServerOptions options = TestOptions();
  options.threads = 1;
  options.max_queued_calls = 2;
  return options;
}

int Count(const std::vector<grpc::StatusCode>& codes, grpc::StatusCode code) {
  return static_cast<int>(std::count(codes.begin(), codes.end(), code));
}

TEST(FrontTest, EveryCallOfACrowdIsDoneOrTurnedAway) {
  TestServer server(Narrow());
  Crowd crowd(server.server().grpc_port(), 12);
  crowd.CallAll(1);
  const auto codes = crowd.CallAll(1200);
  const int done = Count(codes, grpc::OK);
  const int turned_away = Count(codes, grpc::UNAVAILABLE);
  EXPECT_EQ(done + turned_away, 1200);
  EXPECT_EQ(crowd.told(), turned_away);
  EXPECT_GT(done, 0);
  EXPECT_GT(turned_away, 0);
  EXPECT_TRUE(server.AwaitMetric("locus_held_calls",
                                 [](double calls) { return calls == 0; }));
  EXPECT_TRUE(server.AwaitMetric("locus_in_flight_calls",
                                 [](double calls) { return calls == 0; }));
  // And then as ever.
  EXPECT_EQ(Count(crowd.CallAll(1), grpc::OK), 1);
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
// Those that find no place are not held for as long as any may wait. Sanitized,
// calls take so long that they have no usual lane, and are held.
TEST(FrontTest, OfABurstAllThatAreTooManyHearSoAtOnce) {
  ServerOptions options = TestOptions();
  options.threads = 1;
  options.max_queued_calls = 50;
  TestServer server(options);
  Crowd crowd(server.server().grpc_port(), 12);
  // What they take is known then.
  ASSERT_EQ(Count(crowd.CallAll(40), grpc::OK), 40);
  const auto codes = crowd.CallAll(900);
  EXPECT_GT(Count(codes, grpc::OK), 0);
  // However fast the others are done: most of them come before that.
  ASSERT_GT(crowd.told(), 330);
  // One that the machine lets wait may be among them.
  EXPECT_LE(std::count_if(crowd.refused_after_us().begin(),
                          crowd.refused_after_us().end(),
                          [](int64_t micros) { return micros > 5000; }),
            crowd.told() / 50);
}
#endif

TEST(FrontTest, WhoIsHeldWhenTheServerLeavesIsTurnedAway) {
  auto server = std::make_unique<TestServer>(Narrow());
  Crowd crowd(server->server().grpc_port(), 24);
  crowd.CallAll(1);
  std::thread leaving([&] {
    EXPECT_TRUE(server->AwaitMetric("locus_held_calls",
                                    [](double calls) { return calls > 0; }));
    server->server().Shutdown();
  });
  const auto codes = crowd.CallAll(2400);
  leaving.join();
  EXPECT_GT(crowd.told(), 0);
  // Whoever came too late found nobody.
  EXPECT_EQ(Count(codes, grpc::OK) + Count(codes, grpc::UNAVAILABLE) +
                Count(codes, grpc::CANCELLED),
            2400);
}

TEST(FrontTest, CallsThatGoAwayWhileTheyAreHeldAreForgotten) {
  TestServer server(Narrow());
  {
    Crowd crowd(server.server().grpc_port(), 12);
    crowd.CallAll(1);
  }
  const v1::CheckPropertiesRequest request;
  std::vector<std::thread> threads;
  for (int i = 0; i < 64; ++i) {
    threads.emplace_back([&] {
      for (int n = 0; n < 20; ++n) {
        grpc::ClientContext context;
        context.set_deadline(std::chrono::system_clock::now() +
                             std::chrono::milliseconds(2));
        v1::CheckPropertiesResponse response;
        server.evaluation().CheckProperties(&context, request, &response);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_TRUE(server.AwaitMetric("locus_held_calls",
                                 [](double calls) { return calls == 0; }));
  EXPECT_TRUE(server.AwaitMetric("locus_in_flight_calls",
                                 [](double calls) { return calls == 0; }));
}

}  // namespace
}  // namespace locus::server
