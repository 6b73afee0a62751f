#include "server/rpc/health.h"

#include <grpcpp/server_context.h>
#include <grpcpp/support/async_stream.h>
#include <grpcpp/support/async_unary_call.h>

#include <memory>
#include <optional>

#include "absl/strings/str_cat.h"
#include "server/rpc/call_metadata.h"

namespace locus::server {
namespace {

using grpc::health::v1::HealthCheckRequest;
using grpc::health::v1::HealthCheckResponse;

// No service has a longer name.
constexpr size_t kMaxNameLength = 200;

}  // namespace

// State of one Check call, from the moment it is requested from gRPC until its
// response is sent. Deletes itself then.
class Health::CheckCall {
 public:
  CheckCall(Health* health, EventQueue* queue)
      : health_(*health), queue_(*queue), responder_(&context_) {
    health_.RequestCheck(&context_, &request_, &responder_, queue_.queue.get(),
                         queue_.queue.get(), arrival_tag_.tag());
  }

 private:
  void OnArrival(bool ok) {
    if (!ok || queue_.is_closed) return delete this;
    new CheckCall(&health_, &queue_);
    HealthCheckResponse response;
    grpc::Status status;
    if (health_.Knows(request_.service())) {
      const absl::MutexLock lock(&health_.mutex_);
      response.set_status(health_.StatusOf(request_.service()));
    } else {
      status = grpc::Status(grpc::NOT_FOUND, "service name unknown");
    }
    responder_.Finish(response, status, sent_tag_.tag());
  }
  void OnSent(bool /*ok*/) { delete this; }

  Health& health_;
  EventQueue& queue_;
  grpc::ServerContext context_;
  HealthCheckRequest request_;
  grpc::ServerAsyncResponseWriter<HealthCheckResponse> responder_;
  MemberTag<CheckCall> arrival_tag_{this, &CheckCall::OnArrival};
  MemberTag<CheckCall> sent_tag_{this, &CheckCall::OnSent};
};

// State of one Watch call, which sends the current status, and each new status
// after a change. Deletes itself when the call has ended and no write is
// pending.
class Health::WatchCall {
 public:
  WatchCall(Health* health, EventQueue* queue)
      : health_(*health), queue_(*queue), writer_(&context_) {
    context_.AsyncNotifyWhenDone(done_tag_.tag());
    health_.RequestWatch(&context_, &request_, &writer_, queue_.queue.get(),
                         queue_.queue.get(), arrival_tag_.tag());
  }

  // Sends the current status if it differs from the last one sent. While a
  // write is pending, OnWritten() does so later. Requires Health::mutex_, which
  // clang does not recognise by the name that SetServing() has for it.
  void SendStatus() {
    health_.mutex_.AssertHeld();
    if (is_writing_ || is_done_) return;
    const ServingStatus status = health_.StatusOf(request_.service());
    if (last_sent_ == status) return;
    last_sent_ = status;
    HealthCheckResponse response;
    response.set_status(status);
    is_writing_ = true;
    writer_.Write(response, written_tag_.tag());
  }

 private:
  void OnArrival(bool ok) {
    if (!ok) return delete this;   // the server is shut down; no event follows
    if (queue_.is_closed) return;  // arrived during shutdown; OnDone() follows
    new WatchCall(&health_, &queue_);
    connection_ = health_.connections_.Find(context_.peer());
    connection_->OnCallArrived(MetadataBytes(context_));
    arrival_ = Clock::now();
    const absl::MutexLock lock(&health_.mutex_);
    if (request_.service().size() > kMaxNameLength) {
      return Reject(grpc::INVALID_ARGUMENT,
                    "service: is longer than 200 characters");
    }
    if (health_.watchers_.size() >= kMaxWatches) {
      return Reject(grpc::RESOURCE_EXHAUSTED,
                    absl::StrCat("the server has ", kMaxWatches,
                                 " open Watch calls, its maximum"));
    }
    health_.watchers_.insert(this);
    SendStatus();
  }
  void Reject(grpc::StatusCode code, const std::string& message)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(health_.mutex_) {
    is_writing_ = true;
    writer_.Finish(grpc::Status(code, message), written_tag_.tag());
  }
  void OnWritten(bool ok) {
    if (!EndWrite(ok)) delete this;
  }
  // Returns false if the call has ended.
  bool EndWrite(bool ok) ABSL_LOCKS_EXCLUDED(health_.mutex_) {
    const absl::MutexLock lock(&health_.mutex_);
    is_writing_ = false;
    if (is_done_) return false;
    if (ok && !queue_.is_closed && health_.watchers_.count(this) > 0) {
      SendStatus();
    }
    return true;
  }
  void OnDone(bool /*ok*/) {
    if (connection_ != nullptr) {
      connection_->OnCallEnded(
          context_.IsCancelled() ? CallEnd::kCancelled : CallEnd::kAnswered,
          Clock::now() - arrival_);
    }
    {
      const absl::MutexLock lock(&health_.mutex_);
      health_.watchers_.erase(this);
      is_done_ = true;
      if (is_writing_) return;  // OnWritten() deletes the call
    }
    delete this;
  }

  Health& health_;
  EventQueue& queue_;
  grpc::ServerContext context_;
  HealthCheckRequest request_;
  grpc::ServerAsyncWriter<HealthCheckResponse> writer_;
  std::optional<ServingStatus> last_sent_ ABSL_GUARDED_BY(health_.mutex_);
  bool is_writing_ ABSL_GUARDED_BY(health_.mutex_) = false;
  bool is_done_ ABSL_GUARDED_BY(health_.mutex_) = false;
  std::shared_ptr<GuardedConnection> connection_;  // null until it arrives
  Clock::time_point arrival_;
  MemberTag<WatchCall> arrival_tag_{this, &WatchCall::OnArrival};
  MemberTag<WatchCall> written_tag_{this, &WatchCall::OnWritten};
  MemberTag<WatchCall> done_tag_{this, &WatchCall::OnDone};
};

void Health::SetServing(bool serving) {
  const absl::MutexLock lock(&mutex_);
  serving_ = serving;
  for (WatchCall* const watcher : watchers_) watcher->SendStatus();
}

// Two pending requests per method, so that gRPC can accept a call while another
// one is being processed.
void Health::Start(EventQueue* queue) {
  for (int i = 0; i < 2; ++i) {
    new CheckCall(this, queue);
    new WatchCall(this, queue);
  }
}

Health::ServingStatus Health::StatusOf(const std::string& name) const {
  if (!Knows(name)) return HealthCheckResponse::SERVICE_UNKNOWN;
  return serving_ ? HealthCheckResponse::SERVING
                  : HealthCheckResponse::NOT_SERVING;
}

}  // namespace locus::server
