// A server that does nothing: it answers every unary call of any name with an
// empty message, on as many threads as its argument says. What a load tester
// reaches against it is the load tester's own limit, or the machine's. With
// `refuse` as the second argument it turns all but the first away, unread: so
// much gRPC takes for that at the least. Writes its port to standard output,
// ends when standard input does, and says what calls took.
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

bool refuses = false;
std::atomic<int64_t> calls = 0;

double ProcessorSeconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * time.tv_usec;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

// One call after the other; deletes itself when the server shuts down.
class Answerer {
 public:
  Answerer(grpc::AsyncGenericService* service, grpc::ServerCompletionQueue* cq)
      : service_(service), cq_(cq), stream_(&context_) {
    service_->RequestCall(&context_, &stream_, cq_, cq_, this);
  }

  void Proceed(bool ok) {
    if (state_ == State::kWaiting) {
      if (ok) {
        new Answerer(service_, cq_);
        if (calls++ > 0 && refuses) {
          state_ = State::kAnswering;
          stream_.Finish(grpc::Status(grpc::StatusCode::UNAVAILABLE, "no"),
                         this);
          return;
        }
        state_ = State::kReading;
        stream_.Read(&request_, this);
        return;
      }
    } else if (state_ == State::kReading) {
      state_ = State::kAnswering;
      const grpc::Slice nothing("");
      stream_.WriteAndFinish(grpc::ByteBuffer(&nothing, 1),
                             grpc::WriteOptions(), grpc::Status::OK, this);
      return;
    }
    delete this;
  }

 private:
  enum class State { kWaiting, kReading, kAnswering };

  grpc::AsyncGenericService* const service_;
  grpc::ServerCompletionQueue* const cq_;
  grpc::GenericServerContext context_;
  grpc::GenericServerAsyncReaderWriter stream_;
  grpc::ByteBuffer request_;
  State state_ = State::kWaiting;
};

void Serve(grpc::AsyncGenericService* service,
           grpc::ServerCompletionQueue* queue) {
  constexpr int kWaiting = 100;
  for (int i = 0; i < kWaiting; ++i) new Answerer(service, queue);
  void* tag = nullptr;
  bool ok = false;
  while (queue->Next(&tag, &ok)) static_cast<Answerer*>(tag)->Proceed(ok);
}

}  // namespace

int main(int argc, char** argv) {
  const int thread_count = argc > 1 ? std::atoi(argv[1]) : 1;
  // As locusd does: Debian's abseil looks every lock up in a graph otherwise.
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
  refuses = argc > 2 && std::strcmp(argv[2], "refuse") == 0;
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
            << 1e6 * ProcessorSeconds() /
                   static_cast<double>(std::max<int64_t>(calls, 1))
            << " us of processor time each\n";
  return 0;
}
