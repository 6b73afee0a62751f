// Which of gRPC's server APIs answers soonest? Serves the same two methods by
// the synchronous, the callback and the completion-queue API and prints, for
// each, over one connection on loopback:
//
//   back to back   the median and 99th percentile of calls one after another
//   after idle     median and largest latency of a call after two idle seconds
//   health, busy   the same of grpc.health.v1 Check while as many handlers are
//                  blocked as there are workers
//
// Usage: server_api_bench [idle repetitions, default 5]
#include <grpc/support/log.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/health_check_service_interface.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <limits>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "grpc/health/v1/health.grpc.pb.h"
#include "locus/v1/encoding.grpc.pb.h"

namespace {

using locus::v1::EncodeRequest;
using locus::v1::EncodeResponse;
using locus::v1::EncodingService;
using locus::v1::ListSchemesRequest;
using locus::v1::ListSchemesResponse;

constexpr int kWorkers = 2;
constexpr double kNoAnswer = std::numeric_limits<double>::infinity();

// Holds handlers of Encode until it is opened.
class Barrier {
 public:
  void Wait() {
    std::unique_lock lock(mutex_);
    ++waiting_;
    changed_.notify_all();
    changed_.wait(lock, [this] { return open_; });
  }
  // Whether `count` handlers came in time.
  bool AwaitWaiting(int count) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::seconds(5),
                             [&] { return waiting_ >= count; });
  }
  void Open() {
    const std::lock_guard lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int waiting_ = 0;
  bool open_ = false;
};

// A server under one API.
class Candidate {
 public:
  virtual ~Candidate() = default;
  virtual void Register(grpc::ServerBuilder* builder) = 0;
  virtual void Started() {}
  virtual void Stopped() {}

  Barrier barrier;
};

class SyncCandidate : public Candidate, public EncodingService::Service {
  void Register(grpc::ServerBuilder* builder) override {
    builder->RegisterService(this);
  }
  grpc::Status ListSchemes(grpc::ServerContext*, const ListSchemesRequest*,
                           ListSchemesResponse*) override {
    return grpc::Status::OK;
  }
  grpc::Status Encode(grpc::ServerContext*, const EncodeRequest*,
                      EncodeResponse*) override {
    barrier.Wait();
    return grpc::Status::OK;
  }
};

class CallbackCandidate : public Candidate,
                          public EncodingService::CallbackService {
  void Register(grpc::ServerBuilder* builder) override {
    builder->RegisterService(this);
  }
  grpc::ServerUnaryReactor* ListSchemes(grpc::CallbackServerContext* context,
                                        const ListSchemesRequest*,
                                        ListSchemesResponse*) override {
    auto* reactor = context->DefaultReactor();
    reactor->Finish(grpc::Status::OK);
    return reactor;
  }
  grpc::ServerUnaryReactor* Encode(grpc::CallbackServerContext* context,
                                   const EncodeRequest*,
                                   EncodeResponse*) override {
    barrier.Wait();
    auto* reactor = context->DefaultReactor();
    reactor->Finish(grpc::Status::OK);
    return reactor;
  }
};

// One queue, kWorkers threads that both poll and handle.
class QueueCandidate : public Candidate {
  struct Pending {
    virtual ~Pending() = default;
    virtual void Proceed(bool ok) = 0;
  };

  template <typename Request, typename Response>
  struct Unary : Pending {
    using Ask = std::function<void(Unary*)>;
    using Handle = std::function<void()>;
    Unary(Ask ask_next, Handle handler)
        : ask(std::move(ask_next)), handle(std::move(handler)) {
      ask(this);
    }
    void Proceed(bool ok) override {
      if (!ok || finished) {
        delete this;
        return;
      }
      new Unary(ask, handle);
      handle();
      finished = true;
      responder.Finish(Response(), grpc::Status::OK, this);
    }

    grpc::ServerContext context;
    Request request;
    grpc::ServerAsyncResponseWriter<Response> responder{&context};
    const Ask ask;
    const Handle handle;
    bool finished = false;
  };

  void Register(grpc::ServerBuilder* builder) override {
    builder->RegisterService(&service_);
    queue_ = builder->AddCompletionQueue();
  }
  void Started() override {
    using List = Unary<ListSchemesRequest, ListSchemesResponse>;
    using Encode = Unary<EncodeRequest, EncodeResponse>;
    new List(
        [this](List* call) {
          service_.RequestListSchemes(&call->context, &call->request,
                                      &call->responder, queue_.get(),
                                      queue_.get(), call);
        },
        [] {});
    new Encode(
        [this](Encode* call) {
          service_.RequestEncode(&call->context, &call->request,
                                 &call->responder, queue_.get(), queue_.get(),
                                 call);
        },
        [this] { barrier.Wait(); });
    for (int i = 0; i < kWorkers; ++i) {
      threads_.emplace_back([this] {
        void* tag = nullptr;
        bool ok = false;
        while (queue_->Next(&tag, &ok)) static_cast<Pending*>(tag)->Proceed(ok);
      });
    }
  }
  void Stopped() override {
    queue_->Shutdown();
    for (std::thread& thread : threads_) thread.join();
  }

  EncodingService::AsyncService service_;
  std::unique_ptr<grpc::ServerCompletionQueue> queue_;
  std::vector<std::thread> threads_;
};

double MicrosOf(const std::function<bool()>& call) {
  const auto start = std::chrono::steady_clock::now();
  const bool ok = call();
  const std::chrono::duration<double, std::micro> time =
      std::chrono::steady_clock::now() - start;
  return ok ? time.count() : kNoAnswer;
}

std::string Summary(std::vector<double> micros, double upper) {
  std::sort(micros.begin(), micros.end());
  const auto at = [&](double share) {
    return micros[static_cast<size_t>(share *
                                      static_cast<double>(micros.size() - 1))];
  };
  char text[64];
  std::snprintf(text, sizeof(text), "%8.0f /%8.0f", at(0.5), at(upper));
  return text;
}

std::vector<double> Repeat(int count, std::chrono::milliseconds pause,
                           const std::function<bool()>& call) {
  std::vector<double> micros;
  for (int i = 0; i < count; ++i) {
    std::this_thread::sleep_for(pause);
    micros.push_back(MicrosOf(call));
  }
  return micros;
}

void Measure(const char* name, Candidate& candidate, int idle_count) {
  grpc::ServerBuilder builder;
  int port = 0;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(),
                           &port);
  candidate.Register(&builder);
  const auto server = builder.BuildAndStart();
  candidate.Started();

  const auto channel = grpc::CreateChannel("127.0.0.1:" + std::to_string(port),
                                           grpc::InsecureChannelCredentials());
  const auto stub = EncodingService::NewStub(channel);
  const auto health = grpc::health::v1::Health::NewStub(channel);
  const auto list = [&] {
    grpc::ClientContext context;
    ListSchemesResponse response;
    return stub->ListSchemes(&context, {}, &response).ok();
  };
  const auto check = [&] {
    grpc::ClientContext context;
    grpc::health::v1::HealthCheckResponse response;
    context.set_deadline(std::chrono::system_clock::now() +
                         std::chrono::seconds(2));
    return health->Check(&context, {}, &response).ok();
  };
  const std::chrono::milliseconds none(0), two_seconds(2000);
  Repeat(500, none, list);
  const std::string busy = Summary(Repeat(5000, none, list), 0.99);
  const std::string idle = Summary(Repeat(idle_count, two_seconds, list), 1);

  std::vector<std::thread> callers;
  for (int i = 0; i < kWorkers; ++i) {
    callers.emplace_back([&stub] {
      grpc::ClientContext context;
      EncodeResponse response;
      stub->Encode(&context, {}, &response);
    });
  }
  const bool all_blocked = candidate.barrier.AwaitWaiting(kWorkers);
  const std::string healthy =
      Summary(Repeat(20, std::chrono::milliseconds(50), check), 1);
  candidate.barrier.Open();
  for (std::thread& caller : callers) caller.join();
  server->Shutdown();
  candidate.Stopped();
  std::printf("%-18s %s  %s  %s%s\n", name, busy.c_str(), idle.c_str(),
              healthy.c_str(), all_blocked ? "" : "  (not all blocked)");
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  gpr_set_log_function([](gpr_log_func_args*) {});
  grpc::EnableDefaultHealthCheckService(true);
  const int idle_count = argc > 1 ? std::max(1, std::atoi(argv[1])) : 5;
  std::printf(
      "microseconds       back to back p50/p99  after idle p50/max  "
      "health, busy p50/max\n");
  SyncCandidate sync;
  Measure("sync", sync, idle_count);
  CallbackCandidate callback;
  Measure("callback", callback, idle_count);
  QueueCandidate queue;
  Measure("completion queue", queue, idle_count);
  return 0;
}
