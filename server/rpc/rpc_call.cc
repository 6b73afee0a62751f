#include "server/rpc/rpc_call.h"

#include <optional>
#include <string>
#include <utility>

#include "absl/hash/hash.h"
#include "absl/strings/str_cat.h"
#include "core/base/status.h"
#include "server/admission/rejection.h"
#include "server/rpc/call_metadata.h"
#include "server/rpc/cancellation_watch.h"
#include "server/rpc/poller.h"
#include "server/rpc/request_handling.h"
#include "server/rpc/status.h"

namespace locus::server {
namespace {

// Smaller responses fit into the buffers of a connection.
constexpr int64_t kWatchedResponseBytes = 64 << 10;
// Time in which a client may read nothing of a unary response, and of a stream.
constexpr double kMaxResponsePauseSeconds = 10;
constexpr double kMaxStreamPauseSeconds = 60;

}  // namespace

RpcCall::RpcCall(CompletionQueuePoller* poller)
    : poller_(*poller), stream_(&context_) {
  context_.AsyncNotifyWhenDone(done_tag_.tag());
  environment().service.RequestCall(&context_, &stream_, poller_.queue(),
                                    poller_.queue(), arrival_tag_.tag());
}

RpcEnvironment& RpcCall::environment() const { return poller_.environment(); }

bool RpcCall::ShouldLog(const absl::Status& status) const {
  ServerState& state = environment().state;
  return state.options.log_calls &&
         ShouldLogCall(state.call_log,
                       static_cast<grpc::StatusCode>(status.code()),
                       Clock::now());
}

void RpcCall::OnArrival(bool ok) {
  if (!ok) return delete this;  // the server is shut down; no event follows
  // A call that arrives during the shutdown of the queue cannot be answered.
  if (poller_.is_closed()) return Release();
  Request(&poller_);
  environment().open_calls.Enter();
  const std::string peer = context_.peer();
  guarded_ = environment().state.connections.Find(peer);
  guarded_->OnCallArrived(MetadataBytes(context_));
  arrival = Clock::now();
  const RpcEnvironment::Entry* const entry =
      environment().Find(context_.method());
  if (entry == nullptr) {
    stream_.Finish(grpc::Status(grpc::StatusCode::UNIMPLEMENTED,
                                "the server has no such method"),
                   sent_tag_.tag());
    return;
  }
  method_info_ = entry->method;
  method = entry->index;
  connection = absl::HashOf(peer);
  deadline = DeadlineOf(context_, arrival);
  environment().scheduler.OnArrival(this);
}

void RpcCall::Read() {
  admitted_at_ = Clock::now();
  guarded_->OnReadStarted();
  stream_.Read(&request_, read_tag_.tag());
}

void RpcCall::OnRead(bool ok) {
  ready_at_ = Clock::now();
  if (ok) {
    const auto bytes = static_cast<int64_t>(request_.Length());
    guarded_->OnReadEnded(bytes);
    environment().scheduler.OnRead(this, bytes);
    return;
  }
  guarded_->OnReadEnded(std::nullopt);
  // The client has sent no message, or has cancelled the call. Which of the two
  // is known in OnDone(), so that Release() records it.
  is_unread_ = true;
  environment().scheduler.OnFinish(this, 0);
  StartScope();
  const absl::Status status = UnreadStatus();
  scope_->record().AddTrailers(status);
  stream_.Finish(ToGrpcStatus(status), sent_tag_.tag());
}

absl::Status RpcCall::UnreadStatus() {
  LOCUS_RETURN_IF_ERROR(scope_->CheckServing());
  return InvalidField("request", "no message arrived");
}

void RpcCall::StartScope() {
  scope_.emplace(&environment().state, &method_info_->info, &context_,
                 guarded_.get(), arrival);
  scope_->record().AddQueueTime(admitted_at_ - arrival);
}

absl::Status RpcCall::Prepare() {
  LOCUS_RETURN_IF_ERROR(scope_->CheckServing());
  // Saves the work for calls that were cancelled while they were queued.
  LOCUS_RETURN_IF_ERROR(scope_->CheckCancellation());
  return HandleSafely([this]() -> absl::Status {
    LOCUS_ASSIGN_OR_RETURN(prepared_,
                           method_info_->prepare(*scope_, &request_));
    return absl::OkStatus();
  });
}

void RpcCall::Run() {
  Scheduler& scheduler = environment().scheduler;
  if (!scope_) StartScope();
  scope_->record().AddQueueTime(Clock::now() - ready_at_);
  if (!prepared_) {
    absl::Status status = Prepare();
    request_.Clear();
    if (status.ok()) {
      ready_at_ = Clock::now();
      auto [action, rejection] = scheduler.OnPrepared(this, prepared_->work);
      if (action == AdmissionPolicy::Action::kDefer) return;
      status = std::move(rejection);
    }
    if (!status.ok()) {
      prepared_.reset();
      scheduler.OnFinish(this, 0);
      return Send(status);
    }
  }
  if (prepared_->stream) {
    scheduler.OnFinish(this, 0);
    environment().stream_threads.Run([this] { RunStream(); });
    return;
  }
  scope_->record().OnCompute(cost_class);
  grpc::ByteBuffer response;
  const Clock::time_point start = Clock::now();
  const absl::Status status =
      HandleSafely([&] { return prepared_->compute(&response); });
  const Clock::duration time = Clock::now() - start;
  prepared_.reset();
  scope_->record().AddComputeTime(time);
  // A call that was cancelled or failed has not done all its work.
  scheduler.OnFinish(this, status.ok() ? ToSeconds(time) : 0);
  Send(status, response);
}

void RpcCall::RunStream() {
  const auto send = [this](const grpc::ByteBuffer& message) {
    return WriteAndWait(message);
  };
  MessageWriter writer(&*scope_, send);
  const absl::Status status =
      HandleSafely([&] { return prepared_->stream(writer); });
  prepared_.reset();
  Send(status);
}

bool RpcCall::WriteAndWait(const grpc::ByteBuffer& message) {
  Scheduler& scheduler = environment().scheduler;
  scheduler.OnSending(this, static_cast<int64_t>(message.Length()),
                      kMaxStreamPauseSeconds);
  stream_.Write(message, written_tag_.tag());
  bool is_written = false;
  {
    const absl::MutexLock lock(&mutex_);
    while (!write_result_) written_.Wait(&mutex_);
    is_written = *std::exchange(write_result_, std::nullopt);
  }
  scheduler.OnSent(this);
  return is_written;
}

void RpcCall::OnWritten(bool ok) {
  const absl::MutexLock lock(&mutex_);
  write_result_ = ok;
  written_.Signal();
}

void RpcCall::Reject(const absl::Status& status) {
  admitted_at_ = Clock::now();
  StartScope();
  Send(status);
}

bool RpcCall::HasRead(int64_t bytes) {
  const int64_t before = std::exchange(read_bytes_, guarded_->acked_bytes());
  return read_bytes_ - before >= bytes;
}

void RpcCall::Send(const absl::Status& status,
                   const grpc::ByteBuffer& response) {
  const bool is_unary_response = status.ok() && response.Valid();
  if (is_unary_response) {
    response_bytes_ = static_cast<int64_t>(response.Length());
    scope_->record().CountSent(response_bytes_);
    guarded_->OnResponseQueued(response_bytes_);
    if (response_bytes_ >= kWatchedResponseBytes) {
      environment().scheduler.OnSending(this, response_bytes_,
                                        kMaxResponsePauseSeconds);
    }
  }
  const grpc::Status sent = scope_->record().Finish(status, ShouldLog(status));
  if (is_unary_response) {
    stream_.WriteAndFinish(response, grpc::WriteOptions(), sent,
                           sent_tag_.tag());
  } else {
    stream_.Finish(sent, sent_tag_.tag());
  }
}

void RpcCall::OnSent(bool /*ok*/) {
  if (response_bytes_ >= kWatchedResponseBytes) {
    environment().scheduler.OnSent(this);
  }
  guarded_->OnResponseSent(response_bytes_);
  if (!is_unread_) scope_.reset();
  environment().open_calls.Leave();
  Release();
}

void RpcCall::OnDone(bool /*ok*/) {
  if (guarded_ != nullptr) {
    guarded_->OnCallEnded(method_info_ == nullptr  ? CallEnd::kUnknownMethod
                          : context_.IsCancelled() ? CallEnd::kCancelled
                                                   : CallEnd::kAnswered,
                          Clock::now() - arrival);
  }
  if (environment().scheduler.RemoveDeferred(this)) {
    CountAbandoned();
    environment().open_calls.Leave();
    Release();
  }
  Release();
}

void RpcCall::CountAbandoned() {
  admitted_at_ = Clock::now();
  environment()
      .state.metrics.rejected_calls(RejectReason::kDeadline)
      .Increment();
  StartScope();
  const absl::Status status =
      admitted_at_ >= deadline
          ? absl::DeadlineExceededError("the deadline passed")
          : absl::CancelledError("the call was cancelled");
  scope_->record().FinishCancelled(status, ShouldLog(status));
  scope_.reset();
}

void RpcCall::Release() {
  if (references_.fetch_sub(1, std::memory_order_acq_rel) > 1) return;
  if (is_unread_) {
    absl::Status status = scope_->CheckCancellation();
    if (status.ok()) status = UnreadStatus();
    scope_->record().FinishCancelled(status, ShouldLog(status));
  }
  delete this;
}

}  // namespace locus::server
