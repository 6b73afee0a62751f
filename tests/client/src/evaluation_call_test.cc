#include <thread>
#include <vector>

#include "grpcpp/channel.h"
#include "grpcpp/server.h"
#include "grpcpp/server_builder.h"
#include "grpcpp/support/channel_arguments.h"
#include "gtest/gtest.h"
#include "locus/client/client.h"
#include "tests/client/src/fake_evaluation.h"

namespace locus::client {
namespace {

class EvaluationCallTest : public ::testing::Test {
 protected:
  EvaluationCallTest() : service_("{}") {
    grpc::ServerBuilder builder;
    builder.RegisterService(&service_);
    server_ = builder.BuildAndStart();
    client_ = std::make_unique<Client>(
        server_->InProcessChannel(grpc::ChannelArguments()),
        ClientOptions{.retry = {.initial_backoff = absl::Milliseconds(1)}});
  }

  absl::Status Evaluate(uint64_t seed, const CallOptions& call = {}) {
    v1::EvaluateExtrapolationRequest request;
    request.set_seed(seed);
    return client_->EvaluateExtrapolation(
        request,
        [this](const v1::EvaluateExtrapolationResponse& event) {
          events_.push_back(event);
          if (on_event_) return on_event_(event);
          return true;
        },
        call);
  }

  FakeEvaluation service_;
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<Client> client_;
  std::vector<v1::EvaluateExtrapolationResponse> events_;
  Client::EvaluationListener on_event_;
};

TEST_F(EvaluationCallTest, EventsArriveInOrder) {
  CallInfo info;
  ASSERT_TRUE(Evaluate(FakeEvaluation::kComplete, {.info = &info}).ok());
  ASSERT_EQ(events_.size(), 5u);
  EXPECT_TRUE(events_[0].has_progress());
  EXPECT_EQ(events_[3].cell().eval_length(), 128);
  EXPECT_EQ(events_[4].summary().manifest_json(), "{}");
  EXPECT_EQ(info.request_id, "fake");
}

TEST_F(EvaluationCallTest, RetriesIfServerIsBusy) {
  EXPECT_TRUE(Evaluate(FakeEvaluation::kBusy).ok());
  EXPECT_EQ(service_.calls, 2);
}

TEST_F(EvaluationCallTest, DoesNotRetryAfterFirstEvent) {
  EXPECT_EQ(Evaluate(FakeEvaluation::kBreaking).code(),
            absl::StatusCode::kUnavailable);
  EXPECT_EQ(service_.calls, 1);
  EXPECT_EQ(events_.size(), 4u);
}

TEST_F(EvaluationCallTest, ListenerCancelsCall) {
  on_event_ = [](const auto&) { return false; };
  EXPECT_TRUE(absl::IsCancelled(Evaluate(FakeEvaluation::kHanging)));
  EXPECT_EQ(events_.size(), 1u);
}

TEST_F(EvaluationCallTest, TokenCancelsCallFromAnotherThread) {
  CancellationToken cancellation;
  std::thread other;
  on_event_ = [&](const auto&) {
    if (events_.size() == 4)
      other = std::thread([&] { cancellation.Cancel(); });
    return true;
  };
  EXPECT_TRUE(absl::IsCancelled(
      Evaluate(FakeEvaluation::kHanging, {.cancellation = &cancellation})));
  other.join();
}

TEST_F(EvaluationCallTest, CancelledTokenPreventsCall) {
  CancellationToken cancellation;
  cancellation.Cancel();
  EXPECT_TRUE(absl::IsCancelled(
      Evaluate(FakeEvaluation::kComplete, {.cancellation = &cancellation})));
  EXPECT_TRUE(events_.empty());
}

TEST_F(EvaluationCallTest, EndsAtDeadline) {
  EXPECT_TRUE(absl::IsDeadlineExceeded(Evaluate(
      FakeEvaluation::kHanging, {.timeout = absl::Milliseconds(200)})));
}

TEST_F(EvaluationCallTest, ChecksProperties) {
  const auto response = client_->CheckProperties({});
  ASSERT_TRUE(response.ok());
  EXPECT_EQ(response->results(0).scheme_name(), "rope");
}

}  // namespace
}  // namespace locus::client
