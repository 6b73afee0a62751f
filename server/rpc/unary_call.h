// State of one unary call, from the moment it is requested from gRPC until its
// last completion event.
#pragma once

#include <grpcpp/server_context.h>
#include <grpcpp/support/byte_buffer.h>

#include <atomic>
#include <list>
#include <memory>
#include <optional>

#include "absl/status/status.h"
#include "server/admission/adaptive_lifo_queue.h"
#include "server/admission/call_timing.h"
#include "server/admission/concurrency_limiter.h"
#include "server/base/clock.h"
#include "server/rpc/completion_tag.h"
#include "server/rpc/rpc_scope.h"
#include "server/rpc/unary_environment.h"
#include "server/rpc/unary_method.h"

namespace locus::server {

class CompletionQueuePoller;

// A call deletes itself with its last completion event. Everything but Work(),
// which runs on a worker thread, runs on the poller's thread.
//
//   kRequested --> kArrived --> kAdmitted --> kFinished
//                     |    \                      ^
//                     v     '--> kRejected -------|
//                 kDeferred --> kAdmitted, kRejected, or deleted
class UnaryCall {
 public:
  // Requests the next call of that method from gRPC. The poller must outlive
  // the call.
  static void Request(CompletionQueuePoller* poller, size_t method) {
    new UnaryCall(poller, method);
  }

  // Reads the message and handles it on a worker.
  void Admit();
  // Queues the call unread; the poller holds the queue.
  void Defer();
  void Reject(const absl::Status& status);

  // Frees the capacity that the call takes from its cost class, because its
  // message arrives too slowly.
  void LeaveClass();
  // Cancels a call whose message does not arrive.
  void Cancel() { context_.TryCancel(); }

  size_t method() const { return method_; }
  const CallTiming& timing() const { return timing_; }
  Clock::time_point arrival() const { return timing_.arrival(); }
  double seconds_to_deadline() const;
  Clock::duration read_time() const { return Clock::now() - admitted_at_; }
  std::optional<CostClass> PredictCostClass() const;

  // Whether the call would be admitted now.
  bool HasRoom() const;
  // Whether the call could still start in time if it waited for `wait` seconds
  // from `now` on.
  bool HasTimeFor(double wait, Clock::time_point now) const {
    return wait <= SecondsLeft(timing_.slack_seconds(), now);
  }
  // The time after which a deferred call would start too late.
  Clock::time_point start_by() const {
    return After(arrival(), SecondsLeft(timing_.slack_seconds(), arrival()));
  }
  // Whether the call has waited for --max-queue-seconds.
  bool HasExpired() const;

  // Position in the queue of its method, while the call is deferred, and the
  // cost class that was predicted when it was deferred.
  AdaptiveLifoQueue<UnaryCall>::Place place;
  std::optional<CostClass> deferred_class() const { return deferred_class_; }

 private:
  enum class State {
    kRequested,  // waiting for a call
    kArrived,    // to be admitted, deferred or rejected
    kDeferred,   // queued unread
    kAdmitted,   // its message is read, handled and answered
    kRejected,   // its rejection is being sent
    kFinished,   // its response has been sent
  };

  UnaryCall(CompletionQueuePoller* poller, size_t method);

  UnaryEnvironment& environment() const;
  const UnaryMethod& info() const { return *environment().methods[method_]; }
  // How long the call may still wait, by --max-queue-seconds and its deadline.
  double SecondsLeft(double slack, Clock::time_point now) const;

  // Completion events. The last one deletes the call.
  void OnArrival(bool ok);
  void OnRead(bool ok);
  void OnSent(bool ok);
  void OnDone(bool ok);

  // A scope that counts a call which was not handled.
  std::unique_ptr<RpcScope> MakeScope();
  // Counts a call that was cancelled, or timed out, while it was deferred.
  void CountAbandoned();

  // Handles the call on a worker. Once the response is being sent, the call may
  // be deleted at any time.
  void Work();

  CompletionQueuePoller& poller_;
  const size_t method_;
  grpc::ServerContext context_;
  UnaryStream stream_;
  grpc::ByteBuffer request_;
  // Counts the call, and holds its memory until the response is sent.
  std::optional<RpcScope> scope_;
  State state_ = State::kRequested;
  bool is_done_ = false;  // gRPC has reported the end of the call
  std::optional<CostClass> cost_class_;
  std::optional<CostClass> deferred_class_;
  CallTiming timing_;
  Clock::time_point admitted_at_;
  Clock::time_point read_at_;
  Clock::duration deferred_for_{};
  std::list<UnaryCall*>::iterator watched_;
  // Orders the end of Work() before OnSent() for ThreadSanitizer, which does
  // not see the locks inside gRPC that already do so.
  std::atomic<bool> is_handled_ = false;
  MemberTag<UnaryCall> arrival_tag_{this, &UnaryCall::OnArrival};
  MemberTag<UnaryCall> read_tag_{this, &UnaryCall::OnRead};
  MemberTag<UnaryCall> sent_tag_{this, &UnaryCall::OnSent};
  MemberTag<UnaryCall> done_tag_{this, &UnaryCall::OnDone};
};

}  // namespace locus::server
