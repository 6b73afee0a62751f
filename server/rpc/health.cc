#include "server/rpc/health.h"

#include <grpcpp/server_context.h>
#include <grpcpp/support/async_stream.h>
#include <grpcpp/support/async_unary_call.h>

#include <optional>

namespace locus::server {
namespace {

using grpc::health::v1::HealthCheckRequest;
using grpc::health::v1::HealthCheckResponse;

// Longer names are nobody's.
constexpr size_t kMaxName = 200;

}  // namespace

// One question, from before it is asked until it is answered.
class Health::CheckCall {
 public:
  CheckCall(Health* health, EventQueue* queue)
      : health_(*health), queue_(*queue), responder_(&context_) {
    health_.RequestCheck(&context_, &request_, &responder_, queue_.queue.get(),
                         queue_.queue.get(), arrived_.tag());
  }

 private:
  void Arrive(bool ok) {
    if (!ok || queue_.is_closed) return delete this;
    new CheckCall(&health_, &queue_);
    HealthCheckResponse response;
    grpc::Status status;
    if (health_.Knows(request_.service())) {
      const std::lock_guard lock(health_.mutex_);
      response.set_status(health_.StatusOf(request_.service()));
    } else {
      status = grpc::Status(grpc::NOT_FOUND, "service name unknown");
    }
    responder_.Finish(response, status, sent_.tag());
  }
  void End(bool /*ok*/) { delete this; }

  Health& health_;
  EventQueue& queue_;
  grpc::ServerContext context_;
  HealthCheckRequest request_;
  grpc::ServerAsyncResponseWriter<HealthCheckResponse> responder_;
  OwnEvent<CheckCall> arrived_{this, &CheckCall::Arrive};
  OwnEvent<CheckCall> sent_{this, &CheckCall::End};
};

// A stream of answers, one at first and one for each change.
class Health::WatchCall {
 public:
  WatchCall(Health* health, EventQueue* queue)
      : health_(*health), queue_(*queue), writer_(&context_) {
    context_.AsyncNotifyWhenDone(ended_.tag());
    health_.RequestWatch(&context_, &request_, &writer_, queue_.queue.get(),
                         queue_.queue.get(), arrived_.tag());
  }

  // Sends how it is, unless that was the last that was sent, or is to be sent
  // once the last is gone. Expects the health's lock to be held.
  void Tell() {
    if (is_writing_ || is_over_) return;
    const ServingStatus status = health_.StatusOf(request_.service());
    if (told_ == status) return;
    told_ = status;
    HealthCheckResponse response;
    response.set_status(status);
    is_writing_ = true;
    writer_.Write(response, written_.tag());
  }

 private:
  void Arrive(bool ok) {
    if (!ok) return delete this;   // there will be no other event
    if (queue_.is_closed) return;  // it came as the server went
    new WatchCall(&health_, &queue_);
    const std::lock_guard lock(health_.mutex_);
    if (request_.service().size() > kMaxName) {
      is_writing_ = true;
      writer_.Finish(grpc::Status(grpc::INVALID_ARGUMENT,
                                  "service: is longer than 200 characters"),
                     written_.tag());
      return;
    }
    health_.watchers_.insert(this);
    Tell();
  }
  void Written(bool ok) {
    std::unique_lock lock(health_.mutex_);
    is_writing_ = false;
    if (is_over_) {
      lock.unlock();
      delete this;
    } else if (ok && !queue_.is_closed && health_.watchers_.count(this) > 0) {
      Tell();
    }
  }
  void End(bool /*ok*/) {
    std::unique_lock lock(health_.mutex_);
    health_.watchers_.erase(this);
    is_over_ = true;
    if (is_writing_) return;  // deleted when that is heard of
    lock.unlock();
    delete this;
  }

  Health& health_;
  EventQueue& queue_;
  grpc::ServerContext context_;
  HealthCheckRequest request_;
  grpc::ServerAsyncWriter<HealthCheckResponse> writer_;
  std::optional<ServingStatus> told_;
  bool is_writing_ = false;
  bool is_over_ = false;
  OwnEvent<WatchCall> arrived_{this, &WatchCall::Arrive};
  OwnEvent<WatchCall> written_{this, &WatchCall::Written};
  OwnEvent<WatchCall> ended_{this, &WatchCall::End};
};

void Health::SetServing(bool serving) {
  const std::lock_guard lock(mutex_);
  serving_ = serving;
  for (WatchCall* const watcher : watchers_) watcher->Tell();
}

// Two of each: one may come while the other is being taken.
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
