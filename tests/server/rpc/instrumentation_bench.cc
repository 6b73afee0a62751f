// Measures the cost of metrics and of the log line, relative to a small call.
//
// Prints the CPU time, which other processes hardly affect, of the metrics of a
// call, of its log line (written to /dev/null), and of Encode for 16 positions
// over loopback, separately for the threads of the server and of the client.
// Fails if metrics and log line take more than 2 % of the server's CPU time for
// a call.
//
// Usage: server_instrumentation_bench [calls, default 20000]
#include <fcntl.h>
#include <grpcpp/grpcpp.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "locus/v1/encoding.grpc.pb.h"
#include "server/observability/log.h"
#include "server/observability/metrics.h"
#include "server/server.h"

namespace locus::server {
namespace {

constexpr int kRounds = 5;
constexpr double kMaxShare = 0.02;

double CpuSeconds(int who) {
  rusage usage{};
  getrusage(who, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) +
           1e-6 * static_cast<double>(time.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

// The CPU time of one action on all threads in microseconds: the median of
// several rounds, each of which ends with `finish`.
double Micros(
    int count, const std::function<void()>& action,
    const std::function<void()>& finish = [] {}) {
  std::vector<double> rounds;
  for (int round = 0; round < kRounds; ++round) {
    const double start = CpuSeconds(RUSAGE_SELF);
    for (int i = 0; i < count; ++i) action();
    finish();
    rounds.push_back(1e6 * (CpuSeconds(RUSAGE_SELF) - start) / count);
  }
  std::nth_element(rounds.begin(), rounds.begin() + kRounds / 2, rounds.end());
  return rounds[kRounds / 2];
}

// The metrics that RpcScope updates for a call that succeeds.
double MetricsMicros() {
  Metrics metrics("0");
  const MethodMetrics method = metrics.AddMethod("locus.v1.EncodingService",
                                                 "Encode", MethodType::kUnary);
  return Micros(200'000, [&] {
    metrics.in_flight_calls().Increment();
    method.started->Increment();
    method.messages_received->Increment();
    method.queue_seconds->Observe(3e-6);
    metrics.admitted_calls(CostClass::kShort).Increment();
    method.messages_sent->Increment();
    method.compute_seconds->Increment(2e-5);
    method.handling_seconds->Observe(6e-5);
    method.handled[grpc::StatusCode::OK]->Increment();
    metrics.in_flight_calls().Decrement();
  });
}

// A log line like that of RpcScope.
double LogMicros() {
  const int saved_stderr = dup(STDERR_FILENO);
  const int null_device = open("/dev/null", O_WRONLY | O_CLOEXEC);
  dup2(null_device, STDERR_FILENO);
  const auto write = [] {
    LogLine line("info", "call");
    line.Add("method", "/locus.v1.EncodingService/Encode")
        .Add("code", NameOf(grpc::StatusCode::OK))
        .Add("request_id", "5f3c9d2e8b7a41066c1d0f9e2a3b4c5d")
        .Add("peer", "ipv4:127.0.0.1:54321")
        .Add("queue_us", 3)
        .Add("compute_us", 20)
        .Add("total_us", 60)
        .Add("request_bytes", 14)
        .Add("response_bytes", 8300);
    WriteLog(line);
  };
  // Fewer lines than the queue of the log holds, so that none is dropped.
  const double micros =
      Micros(5'000, write, [] { FlushLog(std::chrono::seconds(10)); });
  dup2(saved_stderr, STDERR_FILENO);
  close(saved_stderr);
  close(null_device);
  return micros;
}

struct CallMicros {
  double server = 0;
  double client = 0;
};

// The CPU time of one call. The client works on the calling thread only, so the
// remaining CPU time of the process is the server's.
CallMicros WholeCall(int calls) {
  ServerOptions options;
  options.listen = "127.0.0.1:0";
  options.http = "";
  options.log_calls = false;
  const auto server = Server::Start(options);
  if (!server.ok()) {
    std::fprintf(stderr, "%s\n", server.status().ToString().c_str());
    std::exit(1);
  }
  const auto stub = v1::EncodingService::NewStub(
      grpc::CreateChannel(absl::StrCat("127.0.0.1:", (*server)->grpc_port()),
                          grpc::InsecureChannelCredentials()));
  v1::EncodeRequest request;
  request.mutable_scheme()->mutable_rope();
  request.mutable_positions()->mutable_range()->set_count(16);
  request.set_dim(64);
  const auto call = [&] {
    grpc::ClientContext context;
    v1::EncodeResponse response;
    if (!stub->Encode(&context, request, &response).ok()) std::exit(1);
  };
  for (int i = 0; i < 500; ++i) call();
  std::vector<CallMicros> rounds;
  for (int round = 0; round < kRounds; ++round) {
    const double process = CpuSeconds(RUSAGE_SELF);
    const double thread = CpuSeconds(RUSAGE_THREAD);
    for (int i = 0; i < calls / kRounds; ++i) call();
    const double client = CpuSeconds(RUSAGE_THREAD) - thread;
    const double all = CpuSeconds(RUSAGE_SELF) - process;
    const double each = 1e6 * kRounds / calls;
    rounds.push_back({(all - client) * each, client * each});
  }
  std::nth_element(rounds.begin(), rounds.begin() + kRounds / 2, rounds.end(),
                   [](const CallMicros& a, const CallMicros& b) {
                     return a.server < b.server;
                   });
  return rounds[kRounds / 2];
}

int Main(int argc, char** argv) {
  const int calls = argc > 1 ? std::max(500, std::atoi(argv[1])) : 20000;
  // Runs first, because starting a server also turns off the debug checks of
  // abseil's mutexes, which would distort the other measurements.
  const CallMicros whole = WholeCall(calls);
  const double metrics = MetricsMicros();
  const double log = LogMicros();
  std::printf("CPU time of one small call, in microseconds\n");
  std::printf("  server threads        %8.2f\n", whole.server);
  std::printf("  client thread         %8.2f\n", whole.client);
  std::printf("  metrics               %8.2f  %5.2f %% of the server threads\n",
              metrics, 100 * metrics / whole.server);
  std::printf("  log line (optional)   %8.2f  %5.2f %%\n", log,
              100 * log / whole.server);
  return metrics + log <= kMaxShare * whole.server ? 0 : 1;
}

}  // namespace
}  // namespace locus::server

int main(int argc, char** argv) { return locus::server::Main(argc, argv); }
