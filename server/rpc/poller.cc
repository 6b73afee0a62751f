#include "server/rpc/poller.h"

#include <chrono>
#include <utility>

#include "server/rpc/rpc_call.h"

namespace locus::server {
namespace {

// Pending requests: the number of calls that gRPC can accept while the poller
// is busy.
constexpr int kRequestedCalls = 128;

}  // namespace

CompletionQueuePoller::CompletionQueuePoller(
    RpcEnvironment* environment,
    std::unique_ptr<grpc::ServerCompletionQueue> queue)
    : environment_(*environment), queue_{std::move(queue)} {}

void CompletionQueuePoller::Start() {
  for (int i = 0; i < kRequestedCalls; ++i) RpcCall::Request(this);
  thread_ = std::thread([this] { Run(); });
}

// Only the poller's own thread may shut the queue down: it alone knows that no
// further operation will be started on it.
CompletionQueuePoller::~CompletionQueuePoller() {
  if (thread_.joinable()) {
    closing_.Set(queue(), std::chrono::system_clock::now(), nullptr);
    thread_.join();
  } else {
    queue_.is_closed = true;
    queue()->Shutdown();
    Run();
  }
}

void CompletionQueuePoller::Run() {
  for (;;) {
    const auto next =
        std::chrono::system_clock::now() + environment_.scheduler.Poll();
    void* tag = nullptr;
    bool ok = false;
    const auto result = queue()->AsyncNext(&tag, &ok, next);
    if (result == grpc::CompletionQueue::SHUTDOWN) return;
    if (result == grpc::CompletionQueue::TIMEOUT) continue;
    if (tag != nullptr) {
      CompletionTag::Of(tag)->Proceed(ok);
    } else {
      queue_.is_closed = true;
      queue()->Shutdown();
    }
  }
}

}  // namespace locus::server
