// Overload of a whole server: far more calls than it has capacity for are
// admitted, deferred or rejected.
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

// Sends many calls of less than a millisecond at once, over several
// connections.
class Burst {
 public:
  Burst(int port, int connections) {
    for (int i = 0; i < connections; ++i) {
      grpc::ChannelArguments arguments;
      arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
      stubs_.push_back(v1::EvaluationService::NewStub(grpc::CreateCustomChannel(
          "127.0.0.1:" + std::to_string(port),
          grpc::InsecureChannelCredentials(), arguments)));
    }
    request_.add_schemes()->mutable_rope();
  }

  // Sends `count` calls and returns the codes of all. Calls that the server
  // rejected, rather than the transport, must carry a retry delay.
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
        rejected_after_us_.push_back(
            std::stoll(Trailer(answer->context, "locus-queue-us")));
      }
    }
    queue.Shutdown();
    return codes;
  }
  // Rejections by the server so far, and how long after the arrival of the call
  // each was sent.
  int rejected() const { return static_cast<int>(rejected_after_us_.size()); }
  const std::vector<int64_t>& rejected_after_us() const {
    return rejected_after_us_;
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
  std::vector<int64_t> rejected_after_us_;
};

ServerOptions OptionsWithShortQueue() {
  ServerOptions options = TestOptions();
  options.threads = 1;
  options.max_queued_calls = 2;
  return options;
}

int Count(const std::vector<grpc::StatusCode>& codes, grpc::StatusCode code) {
  return static_cast<int>(std::count(codes.begin(), codes.end(), code));
}

TEST(OverloadTest, EveryCallOfABurstIsServedOrRejected) {
  TestServer server(OptionsWithShortQueue());
  Burst burst(server.server().grpc_port(), 12);
  burst.CallAll(1);
  const auto codes = burst.CallAll(1200);
  const int served = Count(codes, grpc::OK);
  const int rejected = Count(codes, grpc::UNAVAILABLE);
  EXPECT_EQ(served + rejected, 1200);
  EXPECT_EQ(burst.rejected(), rejected);
  EXPECT_GT(served, 0);
  EXPECT_GT(rejected, 0);
  EXPECT_TRUE(server.AwaitMetric("locus_deferred_calls",
                                 [](double calls) { return calls == 0; }));
  EXPECT_TRUE(server.AwaitMetric("locus_in_flight_calls",
                                 [](double calls) { return calls == 0; }));
  // Afterwards the server works as before.
  EXPECT_EQ(Count(burst.CallAll(1), grpc::OK), 1);
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
// Excess calls of a burst are rejected at once instead of after
// --max-queue-seconds. Under sanitizers calls are too slow to have a predicted
// cost class, and are deferred.
TEST(OverloadTest, RejectsTheExcessCallsOfABurstAtOnce) {
  ServerOptions options = TestOptions();
  options.threads = 1;
  options.max_queued_calls = 50;
  TestServer server(options);
  Burst burst(server.server().grpc_port(), 12);
  // Afterwards the cost class of the method is known.
  ASSERT_EQ(Count(burst.CallAll(40), grpc::OK), 40);
  const auto codes = burst.CallAll(900);
  EXPECT_GT(Count(codes, grpc::OK), 0);
  // Most calls arrive before the first ones are done.
  ASSERT_GT(burst.rejected(), 330);
  // A busy machine may delay a few of the rejections.
  EXPECT_LE(std::count_if(burst.rejected_after_us().begin(),
                          burst.rejected_after_us().end(),
                          [](int64_t micros) { return micros > 5000; }),
            burst.rejected() / 50);
}
#endif

// Sanitizers make the calls so slow that they count as long, and are rejected
// rather than deferred.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr char kLoadMetric[] = "locus_in_flight_calls";
#else
constexpr char kLoadMetric[] = "locus_deferred_calls";
#endif

TEST(OverloadTest, DrainingRejectsDeferredCalls) {
  auto server = std::make_unique<TestServer>(OptionsWithShortQueue());
  Burst burst(server->server().grpc_port(), 24);
  burst.CallAll(1);
  std::thread draining([&] {
    EXPECT_TRUE(server->AwaitMetric(kLoadMetric,
                                    [](double calls) { return calls > 0; }));
    server->server().Shutdown();
  });
  const auto codes = burst.CallAll(2400);
  draining.join();
  EXPECT_GT(burst.rejected(), 0);
  // Calls that were sent after the shutdown fail in the transport.
  EXPECT_EQ(Count(codes, grpc::OK) + Count(codes, grpc::UNAVAILABLE) +
                Count(codes, grpc::CANCELLED),
            2400);
}

// Sanitizers make the kernel some forty times slower.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr int64_t kLongTokens = 256;
#else
constexpr int64_t kLongTokens = 1024;
#endif

// An attention call of some tens of milliseconds, which is a long call.
v1::AttendRequest LongRequest() {
  v1::AttendRequest request;
  request.mutable_scheme()->mutable_none();
  for (v1::Tensor* const tensor : {request.mutable_heads()->mutable_q(),
                                   request.mutable_heads()->mutable_k(),
                                   request.mutable_heads()->mutable_v()}) {
    tensor->set_dtype(v1::DATA_TYPE_FLOAT32);
    for (const int64_t extent :
         {int64_t{1}, int64_t{8}, kLongTokens, int64_t{64}}) {
      tensor->add_shape(extent);
    }
    tensor->set_data(std::string(8 * kLongTokens * 64 * sizeof(float), '\0'));
  }
  return request;
}

TEST(OverloadTest, CancelledDeferredCallsLeaveTheQueue) {
  ServerOptions options = TestOptions();
  options.threads = 1;
  options.max_queued_calls = 100;
  options.max_queue_seconds = 600;  // defers every call, rejects none
  // An eighth of it is for messages that are read ahead.
  options.memory_budget_bytes = 64 << 20;
  TestServer server(options);
  const v1::AttendRequest request = LongRequest();
  {
    // After this call the connection is known to make long calls.
    grpc::ClientContext context;
    v1::AttendResponse response;
    ASSERT_TRUE(server.attention().Attend(&context, request, &response).ok());
  }
  struct PendingCall {
    grpc::ClientContext context;
    v1::AttendResponse response;
    grpc::Status status;
    std::unique_ptr<grpc::ClientAsyncResponseReader<v1::AttendResponse>> reader;
  };
  grpc::CompletionQueue queue;
  std::deque<PendingCall> calls(40);
  for (PendingCall& call : calls) {
    call.reader =
        server.attention().AsyncAttend(&call.context, request, &queue);
    call.reader->Finish(&call.response, &call.status, &call);
  }
  EXPECT_TRUE(server.AwaitMetric("locus_deferred_calls",
                                 [](double count) { return count > 0; }));
  for (PendingCall& call : calls) call.context.TryCancel();
  int cancelled = 0;
  for (size_t i = 0; i < calls.size(); ++i) {
    void* tag = nullptr;
    bool ok = false;
    ASSERT_TRUE(queue.Next(&tag, &ok));
    const auto* const call = static_cast<PendingCall*>(tag);
    if (call->status.error_code() == grpc::CANCELLED) ++cancelled;
  }
  queue.Shutdown();
  EXPECT_GT(cancelled, 0);
  EXPECT_TRUE(server.AwaitMetric("locus_deferred_calls",
                                 [](double count) { return count == 0; }));
  EXPECT_TRUE(server.AwaitMetric("locus_in_flight_calls",
                                 [](double count) { return count == 0; }));
}

}  // namespace
}  // namespace locus::server
