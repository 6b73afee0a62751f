#include "locus/client/client.h"

#include <atomic>
#include <mutex>
#include <queue>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"
#include "grpc/health/v1/health.grpc.pb.h"
#include "grpcpp/channel.h"
#include "grpcpp/server.h"
#include "grpcpp/server_builder.h"
#include "grpcpp/support/channel_arguments.h"
#include "gtest/gtest.h"
#include "locus/v1/attention.grpc.pb.h"
#include "locus/v1/encoding.grpc.pb.h"

namespace locus::client {
namespace {

using ::testing::StartsWith;

template <typename Detail>
grpc::Status ErrorWith(grpc::StatusCode code, const Detail& detail) {
  google::rpc::Status details;
  details.add_details()->PackFrom(detail);
  return grpc::Status(code, "message of the server",
                      details.SerializeAsString());
}

grpc::Status RetryIn(absl::Duration delay) {
  google::rpc::RetryInfo info;
  info.mutable_retry_delay()->set_seconds(absl::ToInt64Seconds(delay));
  info.mutable_retry_delay()->set_nanos(
      static_cast<int32_t>(absl::ToInt64Nanoseconds(delay % absl::Seconds(1))));
  return ErrorWith(grpc::StatusCode::UNAVAILABLE, info);
}

// A server that responds to calls with the prepared statuses in order, then
// with OK.
class FakeServer final : public v1::EncodingService::Service {
 public:
  grpc::Status Encode(grpc::ServerContext* context, const v1::EncodeRequest*,
                      v1::EncodeResponse* response) override {
    const std::lock_guard<std::mutex> lock(mutex_);
    ++calls;
    if (std::exchange(drop_next_, false)) return grpc::Status::CANCELLED;
    context->AddTrailingMetadata("x-request-id",
                                 absl::StrCat("call-", calls.load()));
    context->AddTrailingMetadata("locus-queue-us", "7");
    context->AddTrailingMetadata("locus-compute-us", "1500");
    if (statuses_.empty()) {
      response->mutable_output()->set_data(std::string(payload_bytes, 'x'));
      return grpc::Status::OK;
    }
    const grpc::Status status = statuses_.front();
    statuses_.pop();
    return status;
  }

  // Blocks until the client cancels the call.
  grpc::Status ListSchemes(grpc::ServerContext* context,
                           const v1::ListSchemesRequest*,
                           v1::ListSchemesResponse*) override {
    while (!context->IsCancelled()) absl::SleepFor(absl::Milliseconds(1));
    return grpc::Status::CANCELLED;
  }

  void Prepare(std::vector<grpc::Status> statuses) {
    for (grpc::Status& status : statuses) statuses_.push(std::move(status));
  }

  // Cancels the next call without trailers, like a server that shuts down.
  void DropNext() { drop_next_ = true; }

  std::atomic<int> calls{0};
  size_t payload_bytes = 0;

 private:
  bool drop_next_ = false;
  std::mutex mutex_;
  std::queue<grpc::Status> statuses_;
};

class FakeHealth final : public grpc::health::v1::Health::Service {
 public:
  grpc::Status Check(grpc::ServerContext*,
                     const grpc::health::v1::HealthCheckRequest* request,
                     grpc::health::v1::HealthCheckResponse* response) override {
    using Response = grpc::health::v1::HealthCheckResponse;
    if (request->service() == "absent") {
      return grpc::Status(grpc::StatusCode::NOT_FOUND, "unknown service");
    }
    response->set_status(request->service().empty() ? Response::SERVING
                                                    : Response::NOT_SERVING);
    return grpc::Status::OK;
  }
};

class ClientTest : public ::testing::Test {
 protected:
  ClientTest() {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(),
                             &port_);
    builder.RegisterService(&service_);
    builder.RegisterService(&health_);
    server_ = builder.BuildAndStart();
  }
  ~ClientTest() override { server_->Shutdown(); }

  std::unique_ptr<Client> Connect() const {
    ClientOptions options;
    options.address = absl::StrCat("127.0.0.1:", port_);
    options.timeout = absl::Seconds(30);
    options.retry.initial_backoff = absl::Milliseconds(1);
    return *Client::Connect(options);
  }

  FakeServer service_;
  FakeHealth health_;
  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
};

TEST_F(ClientTest, RetriesUnavailable) {
  const grpc::Status busy(grpc::StatusCode::UNAVAILABLE, "busy");
  service_.Prepare({busy, busy});
  CallInfo info;
  const auto response = Connect()->Encode({}, {.info = &info});
  EXPECT_TRUE(response.ok()) << response.status();
  EXPECT_EQ(info.attempts, 3);
  EXPECT_EQ(service_.calls, 3);
}

TEST_F(ClientTest, ReturnsLastErrorAfterMaxAttempts) {
  const grpc::Status busy(grpc::StatusCode::UNAVAILABLE, "busy");
  service_.Prepare({busy, busy, busy, busy, busy});
  const auto response = Connect()->Encode({});
  EXPECT_EQ(response.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(response.status().message(), "busy");
  EXPECT_EQ(service_.calls, RetryPolicy().max_attempts);
}

TEST_F(ClientTest, HonoursRetryDelay) {
  constexpr absl::Duration kDelay = absl::Milliseconds(300);
  service_.Prepare({RetryIn(kDelay)});
  const absl::Time start = absl::Now();
  EXPECT_TRUE(Connect()->Encode({}).ok());
  EXPECT_GE(absl::Now() - start, kDelay);
}

TEST_F(ClientTest, FailsAtOnceIfRetryDelayExceedsDeadline) {
  service_.Prepare({RetryIn(absl::Hours(1))});
  const absl::Time start = absl::Now();
  const auto response = Connect()->Encode({});
  EXPECT_EQ(response.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(RetryDelay(response.status()), absl::Hours(1));
  EXPECT_LT(absl::Now() - start, absl::Seconds(20));
  EXPECT_EQ(service_.calls, 1);
}

TEST_F(ClientTest, RetryDelayAppliesToOtherCalls) {
  constexpr absl::Duration kDelay = absl::Milliseconds(300);
  service_.Prepare({RetryIn(kDelay)});
  const auto client = Connect();
  const absl::Time start = absl::Now();
  // There is no time for a second attempt, so the call fails at once.
  EXPECT_FALSE(client->Encode({}, {.timeout = kDelay / 2}).ok());
  EXPECT_EQ(service_.calls, 1);
  // The delay exceeds the deadline of this call, so it is not sent.
  EXPECT_EQ(client->Encode({}, {.timeout = kDelay / 10}).status().code(),
            absl::StatusCode::kUnavailable);
  EXPECT_EQ(service_.calls, 1);
  EXPECT_TRUE(client->CheckHealth("").ok());
  EXPECT_TRUE(client->Encode({}).ok());
  EXPECT_GE(absl::Now() - start, kDelay);
  EXPECT_EQ(service_.calls, 2);
}

TEST_F(ClientTest, DoesNotRetryInvalidArgument) {
  google::rpc::BadRequest detail;
  detail.add_field_violations()->set_field("dim");
  service_.Prepare({ErrorWith(grpc::StatusCode::INVALID_ARGUMENT, detail)});
  const auto response = Connect()->Encode({});
  EXPECT_EQ(response.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(response.status().message(), "message of the server");
  ASSERT_EQ(FieldViolations(response.status()).size(), 1u);
  EXPECT_EQ(FieldViolations(response.status())[0].field, "dim");
  EXPECT_EQ(service_.calls, 1);
}

TEST_F(ClientTest, ReportsTrailers) {
  CallInfo info;
  ASSERT_TRUE(Connect()->Encode({}, {.info = &info}).ok());
  EXPECT_EQ(info.attempts, 1);
  EXPECT_EQ(info.request_id, "call-1");
  EXPECT_EQ(info.queue_time, absl::Microseconds(7));
  EXPECT_EQ(info.compute_time, absl::Microseconds(1500));
}

TEST_F(ClientTest, ReceivesMessagesAboveGrpcDefaultSize) {
  service_.payload_bytes = size_t{5} << 20;
  const auto response = Connect()->Encode({});
  ASSERT_TRUE(response.ok()) << response.status();
  EXPECT_EQ(response->output().data().size(), service_.payload_bytes);
}

TEST_F(ClientTest, UnresponsiveServerEndsInDeadlineExceeded) {
  const auto client = Connect();
  const absl::Time start = absl::Now();
  const auto response =
      client->ListSchemes({}, {.timeout = absl::Milliseconds(100)});
  EXPECT_EQ(response.status().code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(std::string(response.status().message()),
              StartsWith("no answer from 127.0.0.1:"));
  EXPECT_LT(absl::Now() - start, absl::Seconds(20));
}

TEST_F(ClientTest, MissingServiceIsUnimplemented) {
  EXPECT_EQ(Connect()->Attend({}).status().code(),
            absl::StatusCode::kUnimplemented);
}

TEST_F(ClientTest, ChecksHealth) {
  const auto client = Connect();
  EXPECT_EQ(*client->CheckHealth(""), ServingStatus::kServing);
  EXPECT_EQ(*client->CheckHealth("x"), ServingStatus::kNotServing);
  EXPECT_EQ(client->CheckHealth("absent").status().code(),
            absl::StatusCode::kNotFound);
}

TEST_F(ClientTest, UsesExistingChannel) {
  const ClientOptions options;
  Client client(server_->InProcessChannel(MakeChannelArguments(options)),
                options);
  EXPECT_TRUE(client.Encode({}).ok());
}

TEST_F(ClientTest, ReconnectsAfterRestart) {
  const auto client = Connect();
  ASSERT_TRUE(client->Encode({}).ok());
  server_->Shutdown();
  server_.reset();
  EXPECT_FALSE(client->Encode({}).ok());
  grpc::ServerBuilder builder;
  builder.AddListeningPort(absl::StrCat("127.0.0.1:", port_),
                           grpc::InsecureServerCredentials());
  builder.RegisterService(&service_);
  server_ = builder.BuildAndStart();
  ASSERT_NE(server_, nullptr);
  // gRPC reconnects after its own backoff.
  absl::Status status = absl::UnavailableError("");
  for (const absl::Time start = absl::Now();
       !status.ok() && absl::Now() < start + absl::Seconds(30);) {
    status = client->Encode({}).status();
  }
  EXPECT_TRUE(status.ok()) << status;
}

// Fixture with a second server.
class TwoServersTest : public ClientTest {
 protected:
  TwoServersTest() {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(),
                             &other_port_);
    builder.RegisterService(&other_);
    other_server_ = builder.BuildAndStart();
  }
  ~TwoServersTest() override { other_server_->Shutdown(); }

  std::unique_ptr<Client> ConnectToBoth() const {
    ClientOptions options;
    options.address =
        absl::StrCat("127.0.0.1:", port_, ", 127.0.0.1:", other_port_);
    options.timeout = absl::Seconds(30);
    return *Client::Connect(options);
  }

  FakeServer other_;
  int other_port_ = 0;
  std::unique_ptr<grpc::Server> other_server_;
};

TEST_F(TwoServersTest, AlternatesBetweenServers) {
  const auto client = ConnectToBoth();
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(client->Encode({}).ok());
  EXPECT_EQ(service_.calls, 5);
  EXPECT_EQ(other_.calls, 5);
}

TEST_F(TwoServersTest, RetriesOnOtherServerWithoutDelay) {
  service_.Prepare({RetryIn(absl::Seconds(20))});
  const absl::Time start = absl::Now();
  EXPECT_TRUE(ConnectToBoth()->Encode({}).ok());
  EXPECT_LT(absl::Now() - start, absl::Seconds(10));
  EXPECT_EQ(other_.calls, 1);
}

TEST_F(TwoServersTest, AvoidsServerDuringPushback) {
  service_.Prepare({RetryIn(absl::Seconds(20))});
  const auto client = ConnectToBoth();
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(client->Encode({}).ok());
  EXPECT_EQ(service_.calls, 1);
  EXPECT_EQ(other_.calls, 10);
}

TEST_F(TwoServersTest, ToleratesLossOfOneServer) {
  const auto client = ConnectToBoth();
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(client->Encode({}).ok());
  server_->Shutdown();
  for (int i = 0; i < 8; ++i) {
    const auto response = client->Encode({});
    EXPECT_TRUE(response.ok()) << response.status();
  }
  EXPECT_EQ(other_.calls, 10);
}

TEST_F(ClientTest, RetriesCallsCancelledByServer) {
  service_.DropNext();
  CallInfo info;
  EXPECT_TRUE(Connect()->Encode({}, {.info = &info}).ok());
  EXPECT_EQ(info.attempts, 2);
}

TEST(UnreachableTest, ConnectionRefusedNamesAddress) {
  const auto client = Client::Connect({.address = "127.0.0.1:1"});
  CallInfo info;
  const auto response = (*client)->Encode({}, {.info = &info});
  EXPECT_EQ(response.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(response.status().message(),
            "cannot reach 127.0.0.1:1: Connection refused");
  EXPECT_EQ(info.attempts, RetryPolicy().max_attempts);
  EXPECT_EQ(info.request_id, "");
}

TEST(UnreachableTest, UnknownHostIsNamed) {
  ClientOptions options;
  options.address = "no-such-host.invalid:50051";
  options.timeout = absl::Seconds(5);
  const auto response = (*Client::Connect(options))->Encode({});
  EXPECT_THAT(std::string(response.status().message()),
              StartsWith("cannot reach no-such-host.invalid:50051: "));
}

TEST(ClientOptionsTest, RejectsInvalidOptions) {
  EXPECT_FALSE(Client::Connect({.address = ""}).ok());
  EXPECT_FALSE(Client::Connect({.timeout = absl::ZeroDuration()}).ok());
  EXPECT_FALSE(Client::Connect({.retry = {.max_attempts = 0}}).ok());
  EXPECT_FALSE(
      Client::Connect({.keepalive_interval = absl::ZeroDuration()}).ok());
}

}  // namespace
}  // namespace locus::client
