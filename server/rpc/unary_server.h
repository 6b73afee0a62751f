// Serves all unary methods: owns the completion-queue pollers, the admission
// controller and the worker threads.
//
// Unary methods use gRPC's completion-queue API, because it reports a call
// before its message is read. docs/adr/0001-completion-queue-api.md compares it
// with the synchronous and the callback API.
#pragma once

#include <grpcpp/completion_queue.h>
#include <grpcpp/server_builder.h>

#include <memory>
#include <vector>

#include "server/base/clock.h"
#include "server/rpc/completion_tag.h"
#include "server/rpc/server_state.h"
#include "server/rpc/unary_environment.h"
#include "server/rpc/unary_method.h"

namespace locus::server {

class CompletionQueuePoller;

class UnaryServer {
 public:
  // `state` and `methods` must outlive the server.
  UnaryServer(ServerState* state, std::vector<const UnaryMethod*> methods);
  ~UnaryServer();

  // Adds the completion queues; call it before the gRPC server is built.
  void AddQueues(grpc::ServerBuilder* builder);
  // Starts polling; call it once the gRPC server is built.
  void Start();
  // Waits for the remaining calls and stops polling; call it after the gRPC
  // server has been shut down.
  void Shutdown();

  // A queue for the events of other components. Its poller processes them until
  // the queue is closed.
  EventQueue* first_queue();

  // Calls that are deferred.
  int deferred() const { return environment_.admission.deferred(); }
  // Waits until no call is deferred; false if the deadline passes first.
  bool WaitForNoneDeferred(Clock::time_point deadline) {
    return environment_.admission.WaitForNoneDeferred(deadline);
  }

 private:
  UnaryEnvironment environment_;
  std::vector<std::unique_ptr<CompletionQueuePoller>> pollers_;
};

}  // namespace locus::server
