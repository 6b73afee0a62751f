// State of one call, from the moment it is requested from gRPC until its last
// completion event.
#pragma once

#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/support/byte_buffer.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "server/admission/scheduler.h"
#include "server/base/clock.h"
#include "server/net/connection_guard.h"
#include "server/rpc/completion_tag.h"
#include "server/rpc/method.h"
#include "server/rpc/rpc_environment.h"
#include "server/rpc/rpc_scope.h"

namespace locus::server {

class CompletionQueuePoller;

// A call of any method: unary, or with a stream of responses. Scheduler decides
// what happens to it; AdmissionPolicy::Stage says how far it is.
//
// A call deletes itself with its last completion event. Events are processed on
// the poller's thread, Run() on a worker, and RunStream() on a thread for
// streams. One thread at a time has the call; only OnDone() may run beside it.
class RpcCall final : public Scheduler::Task {
 public:
  // Requests the next call from gRPC. The poller must outlive the call.
  static void Request(CompletionQueuePoller* poller) { new RpcCall(poller); }

 private:
  explicit RpcCall(CompletionQueuePoller* poller);
  // Calls delete themselves.
  ~RpcCall() = default;

  RpcEnvironment& environment() const;
  bool ShouldLog(const absl::Status& status) const;

  // Scheduler::Task.
  void Read() override;
  void Run() override;
  void Reject(const absl::Status& status) override;
  void Cancel() override { context_.TryCancel(); }
  bool HasRead(int64_t bytes) override;

  // Completion events: a call has arrived, its message was read, a message of
  // its stream was written, its status was sent, it has ended.
  void OnArrival(bool ok);
  void OnRead(bool ok);
  void OnWritten(bool ok);
  void OnSent(bool ok);
  void OnDone(bool ok);

  // Creates the scope, and adds the time that the call was queued.
  void StartScope();
  // Parses the request. An error if the call cannot be computed.
  absl::Status Prepare();
  void RunStream();
  // Writes a message of a stream, and waits until it is written. Returns false
  // if the call has ended.
  bool WriteAndWait(const grpc::ByteBuffer& message);
  // Ends the call with this status. After Send(), it may be deleted at any
  // time.
  void Send(const absl::Status& status, const grpc::ByteBuffer& response = {});
  // The status of a call without a message.
  absl::Status UnreadStatus();
  // Counts a call that was cancelled, or timed out, while it was deferred.
  void CountAbandoned();
  // Deletes the call when both OnDone() and the other events are over.
  void Release();

  CompletionQueuePoller& poller_;
  grpc::GenericServerContext context_;
  grpc::GenericServerAsyncReaderWriter stream_;
  const Method* method_info_ = nullptr;
  std::shared_ptr<GuardedConnection> guarded_;  // the connection of the call
  grpc::ByteBuffer request_;
  // Counts the call, and holds its memory until the response is sent.
  std::optional<RpcScope> scope_;
  std::optional<PreparedCall> prepared_;
  int64_t response_bytes_ = 0;
  int64_t read_bytes_ = 0;  // by the client, in HasRead()
  bool is_unread_ = false;  // the client has sent no message, or cancelled
  // When the call was admitted, and when it was queued for a worker.
  Clock::time_point admitted_at_;
  Clock::time_point ready_at_;
  // The result of the last write to a stream.
  absl::Mutex mutex_;
  absl::CondVar written_;
  std::optional<bool> write_result_ ABSL_GUARDED_BY(mutex_);
  // OnDone(), and the events of the call itself.
  std::atomic<int> references_{2};
  MemberTag<RpcCall> arrival_tag_{this, &RpcCall::OnArrival};
  MemberTag<RpcCall> read_tag_{this, &RpcCall::OnRead};
  MemberTag<RpcCall> written_tag_{this, &RpcCall::OnWritten};
  MemberTag<RpcCall> sent_tag_{this, &RpcCall::OnSent};
  MemberTag<RpcCall> done_tag_{this, &RpcCall::OnDone};
};

}  // namespace locus::server
