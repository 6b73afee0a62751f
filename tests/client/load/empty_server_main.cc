// A server without any work, for measuring the overhead of the load tester and
// of gRPC: it responds to every unary call of any method with an empty message.
//
//   empty_server [threads] [reject]
//
// The throughput of a load test against it is the limit of the load tester or
// of the machine. With `reject`, it rejects all calls but the first without
// reading them, which gives the minimum cost of a rejection in gRPC. Writes its
// port to standard output and exits at the end of standard input, after writing
// the CPU time per call to standard error.
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <memory>
#include <thread>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "grpcpp/completion_queue.h"
#include "grpcpp/generic/async_generic_service.h"
#include "grpcpp/security/server_credentials.h"
#include "grpcpp/server.h"
#include "grpcpp/server_builder.h"
#include "grpcpp/support/byte_buffer.h"
#include "grpcpp/support/slice.h"

namespace {

bool rejects = false;
std::atomic<int64_t> calls = 0;

double CpuSeconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * time.tv_usec;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

// State of one call. Deletes itself after the call, or on shutdown.
class EmptyCall {
 public:
  EmptyCall(grpc::AsyncGenericService* service, grpc::ServerCompletionQueue* cq)
      : service_(service), cq_(cq), stream_(&context_) {
    service_->RequestCall(&context_, &stream_, cq_, cq_, this);
  }

  void Proceed(bool ok) {
    if (state_ == State::kWaiting) {
      if (ok) {
        new EmptyCall(service_, cq_);
        if (calls++ > 0 && rejects) {
          state_ = State::kFinishing;
          stream_.Finish(grpc::Status(grpc::StatusCode::UNAVAILABLE, "no"),
                         this);
          return;
        }
        state_ = State::kReading;
        stream_.Read(&request_, this);
        return;
      }
    } else if (state_ == State::kReading) {
      state_ = State::kFinishing;
      const grpc::Slice nothing("");
      stream_.WriteAndFinish(grpc::ByteBuffer(&nothing, 1),
                             grpc::WriteOptions(), grpc::Status::OK, this);
      return;
    }
    delete this;
  }

 private:
  enum class State { kWaiting, kReading, kFinishing };

  grpc::AsyncGenericService* const service_;
  grpc::ServerCompletionQueue* const cq_;
  grpc::GenericServerContext context_;
  grpc::GenericServerAsyncReaderWriter stream_;
  grpc::ByteBuffer request_;
  State state_ = State::kWaiting;
};

void Serve(grpc::AsyncGenericService* service,
           grpc::ServerCompletionQueue* queue) {
  constexpr int kPendingCalls = 100;
  for (int i = 0; i < kPendingCalls; ++i) new EmptyCall(service, queue);
  void* tag = nullptr;
  bool ok = false;
  while (queue->Next(&tag, &ok)) static_cast<EmptyCall*>(tag)->Proceed(ok);
}

}  // namespace

int main(int argc, char** argv) {
  const int thread_count = argc > 1 ? std::atoi(argv[1]) : 1;
  // Same as locusd: deadlock detection, which Debian's abseil enables by
  // default, looks up every lock in a graph.
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
  rejects = argc > 2 && std::strcmp(argv[2], "reject") == 0;
  grpc::AsyncGenericService service;
  grpc::ServerBuilder builder;
  int port = 0;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(),
                           &port);
  builder.RegisterAsyncGenericService(&service);
  std::vector<std::unique_ptr<grpc::ServerCompletionQueue>> queues;
  for (int i = 0; i < thread_count; ++i) {
    queues.push_back(builder.AddCompletionQueue());
  }
  const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  if (server == nullptr) return 1;
  std::vector<std::thread> threads;
  for (const auto& queue : queues) {
    threads.emplace_back(Serve, &service, queue.get());
  }
  std::cout << port << std::endl;
  while (std::getchar() != EOF) {
  }
  server->Shutdown(std::chrono::system_clock::now());
  for (const auto& queue : queues) queue->Shutdown();
  for (std::thread& thread : threads) thread.join();
  std::cerr << calls << " calls, "
            << 1e6 * CpuSeconds() /
                   static_cast<double>(std::max<int64_t>(calls, 1))
            << " us of CPU time each\n";
  return 0;
}
