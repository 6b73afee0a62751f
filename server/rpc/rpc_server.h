// Serves the methods of all services: owns the completion-queue pollers, the
// scheduler and its workers.
//
// All methods use gRPC's completion-queue API through
// grpc::AsyncGenericService, which reports a call before its message is read.
// docs/adr/0001-completion-queue-api.md compares it with the synchronous and
// the callback API.
#pragma once

#include <grpcpp/server_builder.h>

#include <memory>
#include <vector>

#include "server/admission/scheduler.h"
#include "server/rpc/completion_tag.h"
#include "server/rpc/rpc_environment.h"

namespace locus::server {

class CompletionQueuePoller;

class RpcServer {
 public:
  // `state` and `methods` must outlive the server.
  RpcServer(ServerState* state, const std::vector<const Method*>& methods);
  ~RpcServer();

  // Registers the service and adds the completion queues; call it before the
  // gRPC server is built.
  void Register(grpc::ServerBuilder* builder);
  // Starts polling; call it once the gRPC server is built.
  void Start();
  // Waits for the remaining calls and stops polling; call it after the gRPC
  // server has been shut down.
  void Shutdown();

  // A queue for the events of other components. Its poller processes them until
  // the queue is closed.
  EventQueue* first_queue();

  Scheduler& scheduler() { return environment_.scheduler; }

 private:
  RpcEnvironment environment_;
  std::vector<std::unique_ptr<CompletionQueuePoller>> pollers_;
};

}  // namespace locus::server
