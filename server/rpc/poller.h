// One completion queue of gRPC and the thread that polls it.
#pragma once

#include <grpcpp/alarm.h>
#include <grpcpp/completion_queue.h>

#include <memory>
#include <thread>

#include "server/rpc/completion_tag.h"
#include "server/rpc/rpc_environment.h"

namespace locus::server {

// Requests calls from gRPC and processes the events of its queue. Everything
// but the constructor, the destructor and Start() runs on the poller's own
// thread.
class CompletionQueuePoller {
 public:
  CompletionQueuePoller(RpcEnvironment* environment,
                        std::unique_ptr<grpc::ServerCompletionQueue> queue);
  // Requires that no call is open.
  ~CompletionQueuePoller();

  void Start();

  RpcEnvironment& environment() { return environment_; }
  grpc::ServerCompletionQueue* queue() { return queue_.queue.get(); }
  EventQueue* events() { return &queue_; }
  // Whether the queue is shut down, so that no operation may be started on it.
  bool is_closed() const { return queue_.is_closed; }

 private:
  void Run();

  RpcEnvironment& environment_;
  EventQueue queue_;
  grpc::Alarm closing_;  // its tag is null
  std::thread thread_;
};

}  // namespace locus::server
