// Complete runs against a gRPC server with scripted responses.
#include "client/load/runner.h"

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <set>
#include <string>
#include <thread>

#include "client/load/connections.h"
#include "grpcpp/channel.h"
#include "grpcpp/server.h"
#include "grpcpp/server_builder.h"
#include "grpcpp/server_context.h"
#include "grpcpp/support/slice.h"
#include "gtest/gtest.h"
#include "locus/v1/encoding.grpc.pb.h"

namespace locus::client::load {
namespace {

constexpr int64_t kMilli = 1000 * 1000;
constexpr int64_t kSecond = 1000 * kMilli;

// A server whose responses are given by a function. Records calls and peers.
class FakeEncoding final : public v1::EncodingService::Service {
 public:
  using Handler = std::function<grpc::Status(int call, grpc::ServerContext*)>;

  explicit FakeEncoding(Handler handler) : handler_(std::move(handler)) {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(),
                             &port_);
    builder.RegisterService(this);
    server_ = builder.BuildAndStart();
  }
  ~FakeEncoding() override {
    server_->Shutdown(std::chrono::system_clock::now());
  }

  grpc::Status ListSchemes(grpc::ServerContext* context,
                           const v1::ListSchemesRequest* /*request*/,
                           v1::ListSchemesResponse* /*response*/) override {
    int call = 0;
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      call = calls_++;
      peers_.insert(context->peer());
    }
    return handler_(call, context);
  }

  std::string address() const { return "127.0.0.1:" + std::to_string(port_); }
  int calls() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return calls_;
  }
  size_t peers() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return peers_.size();
  }

 private:
  const Handler handler_;
  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
  std::mutex mutex_;
  int calls_ = 0;
  std::set<std::string> peers_;
};

grpc::Status ReturnOk(int /*call*/, grpc::ServerContext* /*context*/) {
  return grpc::Status::OK;
}

// A handler that blocks all calls for 300 ms, once, at call number 20.
class Stall {
 public:
  grpc::Status operator()(int call, grpc::ServerContext* /*context*/) {
    std::unique_lock<std::mutex> lock(mutex_);
    if (call == 20) {
      until_ =
          std::chrono::steady_clock::now() + std::chrono::milliseconds(300);
    }
    changed_.wait_until(lock, until_, [] { return false; });
    return grpc::Status::OK;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::chrono::steady_clock::time_point until_{};
};

// A handler that blocks until the client cancels the call.
grpc::Status BlockUntilCancelled(int /*call*/, grpc::ServerContext* context) {
  while (!context->IsCancelled()) std::this_thread::yield();
  return grpc::Status::CANCELLED;
}

RunOptions Options(const FakeEncoding& server, int connections = 1) {
  RunOptions options;
  const grpc::Slice nothing("");
  options.target = {.method = "/locus.v1.EncodingService/ListSchemes",
                    .request = grpc::ByteBuffer(&nothing, 1),
                    .timeout_nanos = 20 * kSecond};
  options.channels =
      OpenConnections(server.address(), connections, 20 * kSecond).value();
  options.max_in_flight = 1000;
  return options;
}

void SetRate(double rate, double seconds, RunOptions* options) {
  options->length_nanos = static_cast<int64_t>(seconds * kSecond);
  options->make_schedule = [=] {
    return MakeSchedule(RateProfile({{seconds, rate, rate}}),
                        Arrivals::kRegular, 0);
  };
}

int64_t CountAbove(const Histogram& histogram, int64_t nanos) {
  int64_t count = 0;
  for (const Histogram::Bin& bin : histogram.Bins()) {
    if (bin.nanos > nanos) count += bin.count;
  }
  return count;
}

TEST(RunLoadTest, OpenLoopMakesEveryScheduledCall) {
  FakeEncoding server(ReturnOk);
  RunOptions options = Options(server);
  SetRate(200, 0.5, &options);
  const Result result = RunLoad(options);
  EXPECT_EQ(result.statistics.ok_count(), 100);
  EXPECT_EQ(result.unsent, 0);
  EXPECT_EQ(server.calls(), 100);
  EXPECT_EQ(result.cost.calls, 100);
  EXPECT_GT(result.cost.thread_cpu_seconds, 0);
  EXPECT_GE(result.measured_seconds, 0.5);
}

TEST(RunLoadTest, ThreadsShareTheSchedule) {
  FakeEncoding server(ReturnOk);
  RunOptions options = Options(server, 3);
  options.threads = 2;
  SetRate(200, 0.5, &options);
  EXPECT_EQ(RunLoad(options).statistics.ok_count(), 100);
  EXPECT_EQ(server.peers(), 3);
}

// An open loop avoids coordinated omission: the stall appears in the latency of
// every call that was due during it.
TEST(RunLoadTest, StallDelaysEveryCallDueDuringIt) {
  FakeEncoding server([stall = std::make_shared<Stall>()](
                          int call, grpc::ServerContext* context) {
    return (*stall)(call, context);
  });
  RunOptions options = Options(server);
  SetRate(200, 1, &options);
  const Result result = RunLoad(options);
  // 60 calls are due in 300 ms; those of the first 200 ms wait for at least
  // 100 ms.
  EXPECT_GE(CountAbove(result.statistics.latency, 100 * kMilli), 35);
}

// Latency includes the time that calls wait in the client for max_in_flight.
TEST(RunLoadTest, LatencyOfCallsDelayedByMaxInFlightCountsFromDueTime) {
  FakeEncoding server([stall = std::make_shared<Stall>()](
                          int call, grpc::ServerContext* context) {
    return (*stall)(call, context);
  });
  RunOptions options = Options(server);
  options.max_in_flight = 1;
  SetRate(200, 1, &options);
  const Result result = RunLoad(options);
  EXPECT_GE(CountAbove(result.statistics.latency, 100 * kMilli), 35);
  EXPECT_LE(CountAbove(result.statistics.service, 100 * kMilli), 5);
  EXPECT_GE(result.delayed, 1);
}

// A closed loop sees the stall in one call only (coordinated omission).
TEST(RunLoadTest, ClosedLoopOmitsCallsDuringStall) {
  FakeEncoding server([stall = std::make_shared<Stall>()](
                          int call, grpc::ServerContext* context) {
    return (*stall)(call, context);
  });
  RunOptions options = Options(server);
  options.concurrency = 1;
  options.length_nanos = kSecond;
  const Result result = RunLoad(options);
  EXPECT_GE(CountAbove(result.statistics.latency, 250 * kMilli), 1);
  EXPECT_LE(CountAbove(result.statistics.latency, 250 * kMilli), 2);
  EXPECT_GT(result.statistics.ok_count(), 20);
}

TEST(RunLoadTest, ClosedLoopLimitsConcurrency) {
  std::mutex mutex;
  int now = 0;
  int max = 0;
  FakeEncoding server([&](int /*call*/, grpc::ServerContext* /*context*/) {
    {
      const std::lock_guard<std::mutex> lock(mutex);
      max = std::max(max, ++now);
    }
    std::this_thread::yield();
    const std::lock_guard<std::mutex> lock(mutex);
    --now;
    return grpc::Status::OK;
  });
  RunOptions options = Options(server, 2);
  options.concurrency = 5;
  options.threads = 2;
  options.length_nanos = 300 * kMilli;
  const Result result = RunLoad(options);
  EXPECT_LE(max, 5);
  EXPECT_GT(result.statistics.ok_count(), 5);
  EXPECT_EQ(result.statistics.ok_count(), server.calls());
}

TEST(RunLoadTest, EveryConnectionHasItsOwnSocket) {
  FakeEncoding server(ReturnOk);
  RunOptions options = Options(server, 7);
  SetRate(200, 0.3, &options);
  RunLoad(options);
  EXPECT_EQ(server.peers(), 7);
}

TEST(RunLoadTest, CountsStatuses) {
  FakeEncoding server([](int call, grpc::ServerContext* /*context*/) {
    return call % 5 == 0 ? grpc::Status(grpc::StatusCode::UNAVAILABLE, "full")
                         : grpc::Status::OK;
  });
  RunOptions options = Options(server);
  SetRate(200, 0.5, &options);
  const Result result = RunLoad(options);
  EXPECT_EQ(result.statistics.ok_count(), 80);
  EXPECT_EQ(result.statistics.by_code[14], 20);
  EXPECT_DOUBLE_EQ(result.ErrorRatio(), 0.2);
  EXPECT_EQ(server.calls(), 100) << "failed calls must not be retried";
}

TEST(RunLoadTest, HonoursPushbackOnRequest) {
  const auto reject = [](int /*call*/, grpc::ServerContext* context) {
    context->AddTrailingMetadata("grpc-retry-pushback-ms", "60000");
    return grpc::Status(grpc::StatusCode::UNAVAILABLE, "full");
  };
  FakeEncoding server(reject);
  RunOptions options = Options(server, 2);
  SetRate(100, 1, &options);
  options.respect_pushback = true;
  const Result result = RunLoad(options);
  EXPECT_EQ(result.statistics.by_code[14], 100);
  EXPECT_EQ(server.calls() + result.suppressed, 100);
  // At least one call per connection, plus calls sent before its response
  // arrived.
  EXPECT_GE(server.calls(), 2);
  EXPECT_LT(server.calls(), 50);
}

TEST(RunLoadTest, IgnoresPushbackByDefault) {
  FakeEncoding server([](int /*call*/, grpc::ServerContext* context) {
    context->AddTrailingMetadata("grpc-retry-pushback-ms", "60000");
    return grpc::Status(grpc::StatusCode::UNAVAILABLE, "full");
  });
  RunOptions options = Options(server);
  SetRate(100, 0.5, &options);
  const Result result = RunLoad(options);
  EXPECT_EQ(server.calls(), 50);
  EXPECT_EQ(result.suppressed, 0);
}

TEST(RunLoadTest, ReadsServerTimesFromTrailers) {
  FakeEncoding server([](int /*call*/, grpc::ServerContext* context) {
    context->AddTrailingMetadata("locus-queue-us", "70");
    context->AddTrailingMetadata("locus-compute-us", "1100");
    return grpc::Status::OK;
  });
  RunOptions options = Options(server);
  SetRate(100, 0.2, &options);
  const Result result = RunLoad(options);
  EXPECT_EQ(result.statistics.queue.count(), 20);
  EXPECT_EQ(result.statistics.queue.mean(), 70000);
  EXPECT_EQ(result.statistics.compute.mean(), 1100000);
}

TEST(RunLoadTest, IgnoresInvalidTrailers) {
  FakeEncoding server([](int /*call*/, grpc::ServerContext* context) {
    context->AddTrailingMetadata("locus-queue-us", "soon");
    return grpc::Status::OK;
  });
  RunOptions options = Options(server);
  SetRate(100, 0.2, &options);
  EXPECT_EQ(RunLoad(options).statistics.queue.count(), 0);
}

TEST(RunLoadTest, ExcludesWarmUpFromStatistics) {
  FakeEncoding server(ReturnOk);
  RunOptions options = Options(server);
  SetRate(200, 0.5, &options);
  options.warm_up_nanos = 200 * kMilli;
  const Result result = RunLoad(options);
  EXPECT_EQ(result.statistics.ok_count(), 60);
  EXPECT_EQ(server.calls(), 100);
  EXPECT_EQ(result.cost.calls, 100);
}

TEST(RunLoadTest, CallsEndAtTheirDeadline) {
  FakeEncoding server(BlockUntilCancelled);
  RunOptions options = Options(server);
  options.target.timeout_nanos = 200 * kMilli;
  SetRate(50, 0.1, &options);
  const Result result = RunLoad(options);
  EXPECT_EQ(result.statistics.by_code[4], 5);
  EXPECT_EQ(result.statistics.ok_count(), 0);
}

TEST(RunLoadTest, LimitsCallsInFlightAndReportsUnsentCalls) {
  FakeEncoding server(BlockUntilCancelled);
  RunOptions options = Options(server);
  options.target.timeout_nanos = 2 * kSecond;
  options.max_in_flight = 3;
  SetRate(100, 0.2, &options);
  const Result result = RunLoad(options);
  EXPECT_EQ(result.delayed, 1) << "the fourth call waits until the run is over";
  EXPECT_EQ(server.calls(), 4);
  EXPECT_EQ(result.unsent, 16);
}

TEST(RunLoadTest, CancelledRunReportsFinishedCalls) {
  CancellationToken cancellation;
  FakeEncoding server([&](int call, grpc::ServerContext* context) {
    if (call == 9) cancellation.Cancel();
    return call < 8 ? grpc::Status::OK : BlockUntilCancelled(call, context);
  });
  RunOptions options = Options(server);
  options.cancellation = &cancellation;
  SetRate(100, 600, &options);
  const Result result = RunLoad(options);
  EXPECT_TRUE(result.interrupted);
  EXPECT_EQ(result.statistics.ok_count(), 8);
  EXPECT_GE(result.unfinished, 2);
  EXPECT_EQ(result.statistics.failed_count(), 0);
  EXPECT_LT(result.measured_seconds, 60);
}

TEST(RunLoadTest, IntervalsAddUpToAllCalls) {
  FakeEncoding server(ReturnOk);
  RunOptions options = Options(server);
  SetRate(100, 1.6, &options);
  int64_t reported = 0;
  options.on_interval = [&reported](const Interval& interval) {
    reported += interval.ok;
  };
  const Result result = RunLoad(options);
  ASSERT_GE(result.timeline.size(), 2);
  EXPECT_GT(result.timeline[0].ok, 0);
  EXPECT_EQ(reported, 160);
  EXPECT_GT(result.timeline[0].p50, 0);
}

}  // namespace
}  // namespace locus::client::load
