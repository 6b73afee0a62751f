#include "server/rpc/unary_server.h"

#include <algorithm>
#include <utility>

#include "server/rpc/poller.h"

namespace locus::server {
namespace {

// One poller keeps up with the calls that two threads can compute.
size_t PollerCount(const ServerState& state) {
  return static_cast<size_t>(std::max(1, state.options.threads / 2));
}

}  // namespace

UnaryServer::UnaryServer(ServerState* state,
                         std::vector<const UnaryMethod*> methods)
    : environment_(state, std::move(methods), PollerCount(*state)) {}

UnaryServer::~UnaryServer() = default;

void UnaryServer::AddQueues(grpc::ServerBuilder* builder) {
  for (size_t i = 0; i < environment_.poller_count; ++i) {
    pollers_.push_back(std::make_unique<CompletionQueuePoller>(
        &environment_, i, builder->AddCompletionQueue()));
  }
}

EventQueue* UnaryServer::first_queue() { return pollers_.front()->events(); }

void UnaryServer::Start() {
  for (const auto& poller : pollers_) poller->Start();
}

void UnaryServer::Shutdown() {
  environment_.admission.WaitForIdle();
  pollers_.clear();
}

}  // namespace locus::server
