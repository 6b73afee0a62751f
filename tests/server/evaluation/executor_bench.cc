// Measures the latency of short calls during an evaluation. Prints the p50 and
// p99 of Encode (16 positions) and Attend (64 tokens) over one connection on
// loopback, in rounds that alternate between an idle server and a server that
// runs an evaluation.
//
// Usage: server_executor_bench [rounds, default 5] [real | fake] [normal]
//
// `real` trains transformers, `fake` (the default) multiplies without end.
// `normal` runs the evaluation at normal priority, for comparison.
#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "locus/v1/attention.grpc.pb.h"
#include "locus/v1/encoding.grpc.pb.h"
#include "locus/v1/evaluation.grpc.pb.h"
#include "server/base/clock.h"
#include "server/server.h"

namespace locus::server {
namespace {

constexpr int kCalls = 2000;
constexpr std::chrono::microseconds kPause(1000);

// A fake evaluation that multiplies on all threads until it is stopped.
class FakeEvaluation final : public Evaluation {
 public:
  double flops() const override { return 1; }
  std::string SuggestReduction(double) const override { return ""; }
  int64_t scratch_bytes(int) const override { return 0; }
  absl::StatusOr<EvaluationSummary> Run(ThreadPool& pool,
                                        const CancellationCheck& stop,
                                        EvaluationSink& sink) const override {
    sink.OnCell(EvaluationCell());
    std::atomic<bool> stopped = false;
    pool.ParallelFor(pool.thread_count(), [&](int64_t) {
      std::vector<float> numbers(1 << 18, 1.5f);
      while (!stopped) {
        for (float& number : numbers) number = number * 0.999f + 0.001f;
        if (!stop().ok()) stopped = true;
      }
    });
    return absl::CancelledError("stopped");
  }
};

v1::Tensor Ones(int64_t heads, int64_t tokens, int64_t dim) {
  v1::Tensor tensor;
  tensor.set_dtype(v1::DATA_TYPE_FLOAT32);
  for (const int64_t extent : {int64_t{1}, heads, tokens, dim}) {
    tensor.add_shape(extent);
  }
  const std::vector<float> ones(heads * tokens * dim, 1.0f);
  tensor.set_data(std::string(reinterpret_cast<const char*>(ones.data()),
                              ones.size() * sizeof(float)));
  return tensor;
}

class Bench {
 public:
  explicit Bench(int port)
      : channel_(grpc::CreateChannel("127.0.0.1:" + std::to_string(port),
                                     grpc::InsecureChannelCredentials())),
        encoding_(v1::EncodingService::NewStub(channel_)),
        attention_(v1::AttentionService::NewStub(channel_)),
        evaluation_(v1::EvaluationService::NewStub(channel_)) {
    encode_.mutable_scheme()->mutable_rope();
    encode_.mutable_positions()->mutable_range()->set_count(16);
    encode_.set_dim(64);
    attend_.mutable_scheme()->mutable_rope();
    attend_.mutable_options()->set_causal(true);
    *attend_.mutable_heads()->mutable_q() = Ones(4, 64, 32);
    *attend_.mutable_heads()->mutable_k() = Ones(4, 64, 32);
    *attend_.mutable_heads()->mutable_v() = Ones(4, 64, 32);
  }

  bool Encode() {
    grpc::ClientContext context;
    v1::EncodeResponse response;
    return encoding_->Encode(&context, encode_, &response).ok();
  }
  bool Attend() {
    grpc::ClientContext context;
    v1::AttendResponse response;
    return attention_->Attend(&context, attend_, &response).ok();
  }

  // Calls `during` while an evaluation runs.
  void WhileEvaluating(const std::function<void()>& during) {
    v1::EvaluateExtrapolationRequest request;
    request.mutable_trained()->mutable_text();
    request.mutable_trained()->mutable_training()->set_step_count(400);
    request.set_seed_count(32);
    grpc::ClientContext context;
    const auto reader = evaluation_->EvaluateExtrapolation(&context, request);
    v1::EvaluateExtrapolationResponse event;
    if (!reader->Read(&event)) {
      std::printf("the evaluation failed: %s\n",
                  reader->Finish().error_message().c_str());
      std::exit(1);
    }
    during();
    context.TryCancel();
    while (reader->Read(&event)) continue;
    reader->Finish();
  }

 private:
  const std::shared_ptr<grpc::Channel> channel_;
  const std::unique_ptr<v1::EncodingService::Stub> encoding_;
  const std::unique_ptr<v1::AttentionService::Stub> attention_;
  const std::unique_ptr<v1::EvaluationService::Stub> evaluation_;
  v1::EncodeRequest encode_;
  v1::AttendRequest attend_;
};

// The sorted latencies of sequential calls in microseconds, with a pause after
// each.
std::vector<double> Measure(const std::function<bool()>& call) {
  std::vector<double> micros;
  for (int i = 0; i < kCalls; ++i) {
    const auto start = Clock::now();
    if (!call()) std::exit(1);
    const auto end = Clock::now();
    micros.push_back(
        std::chrono::duration<double, std::micro>(end - start).count());
    std::this_thread::sleep_until(end + kPause);
  }
  std::sort(micros.begin(), micros.end());
  return micros;
}

void Print(const char* what, const std::vector<double>& micros) {
  std::printf("%-24s p50 %7.0f us   p99 %7.0f us\n", what,
              micros[micros.size() / 2], micros[micros.size() * 99 / 100]);
  std::fflush(stdout);
}

int Main(int rounds, bool real, bool normal_priority) {
  ServerOptions options;
  options.listen = "127.0.0.1:0";
  options.http = "";
  options.log_calls = false;
  options.background_evaluations = !normal_priority;
  const auto make_fake = [](const EvaluationSettings&,
                            const std::vector<EvaluatedScheme>&) {
    return std::make_unique<FakeEvaluation>();
  };
  const auto server =
      real ? Server::Start(options) : Server::Start(options, make_fake);
  if (!server.ok()) return 1;
  Bench bench((*server)->grpc_port());
  const auto encode = [&] { return bench.Encode(); };
  const auto attend = [&] { return bench.Attend(); };
  Measure(encode);
  for (int round = 0; round < rounds; ++round) {
    Print("Encode, idle", Measure(encode));
    Print("Attend, idle", Measure(attend));
    bench.WhileEvaluating([&] {
      Print("Encode, evaluating", Measure(encode));
      Print("Attend, evaluating", Measure(attend));
    });
  }
  return 0;
}

}  // namespace
}  // namespace locus::server

int main(int argc, char** argv) {
  const std::string kind = argc > 2 ? argv[2] : "fake";
  return locus::server::Main(argc > 1 ? std::atoi(argv[1]) : 5, kind == "real",
                             argc > 3 && std::string(argv[3]) == "normal");
}
