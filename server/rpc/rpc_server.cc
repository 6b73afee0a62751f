#include "server/rpc/rpc_server.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "server/rpc/poller.h"

namespace locus::server {
namespace {

// A deferred call takes up to 70 KiB, mostly message bytes that gRPC has
// already received (docs/adr/0002-defer-calls-before-reading.md). Deferred
// calls may take an eighth of the memory budget.
constexpr int64_t kDeferredCallBytes = int64_t{70} << 10;
constexpr int64_t kMinDeferredCapacity = 1000;
// Messages of long calls that are read before there is a worker for them.
constexpr int64_t kReadAheadBytes = int64_t{64} << 20;
// If no more calls may be rejected early, the queue may become this much
// longer.
constexpr int64_t kDeferredPerQueued = 10;

AdmissionPolicy::Limits LimitsOf(const ServerOptions& options,
                                 size_t method_count) {
  const int64_t by_memory =
      std::max(kMinDeferredCapacity,
               options.memory_budget_bytes / 8 / kDeferredCallBytes);
  return {.slots = options.threads,
          .methods = method_count,
          .max_queued = options.max_queued_calls,
          .max_deferred = static_cast<int>(std::min(
              by_memory, kDeferredPerQueued * options.max_queued_calls)),
          .max_wait_seconds = options.max_queue_seconds,
          .read_ahead_bytes =
              std::min(options.memory_budget_bytes / 8, kReadAheadBytes)};
}

}  // namespace

RpcEnvironment::RpcEnvironment(ServerState* server_state,
                               const std::vector<const Method*>& all_methods)
    : state(*server_state),
      stream_threads(state.options.max_evaluations),
      scheduler(LimitsOf(state.options, all_methods.size())) {
  for (size_t i = 0; i < all_methods.size(); ++i) {
    methods[all_methods[i]->info.path] = {all_methods[i], i};
  }
}

const RpcEnvironment::Entry* RpcEnvironment::Find(
    const std::string& path) const {
  const auto found = methods.find(path);
  return found == methods.end() ? nullptr : &found->second;
}

RpcServer::RpcServer(ServerState* state,
                     const std::vector<const Method*>& methods)
    : environment_(state, methods) {}

RpcServer::~RpcServer() = default;

void RpcServer::Register(grpc::ServerBuilder* builder) {
  builder->RegisterAsyncGenericService(&environment_.service);
  // One poller keeps up with the calls that two threads can compute.
  const int pollers = std::max(1, environment_.state.options.threads / 2);
  for (int i = 0; i < pollers; ++i) {
    pollers_.push_back(std::make_unique<CompletionQueuePoller>(
        &environment_, builder->AddCompletionQueue()));
  }
}

EventQueue* RpcServer::first_queue() { return pollers_.front()->events(); }

void RpcServer::Start() {
  for (const auto& poller : pollers_) poller->Start();
}

void RpcServer::Shutdown() {
  environment_.open_calls.WaitForNone();
  pollers_.clear();
}

}  // namespace locus::server
