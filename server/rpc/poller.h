// One completion queue of gRPC and the thread that polls it.
#pragma once

#include <grpcpp/alarm.h>
#include <grpcpp/completion_queue.h>

#include <chrono>
#include <list>
#include <memory>
#include <thread>
#include <vector>

#include "server/admission/adaptive_lifo_queue.h"
#include "server/admission/token_bucket.h"
#include "server/base/clock.h"
#include "server/rpc/completion_tag.h"
#include "server/rpc/unary_call.h"
#include "server/rpc/unary_environment.h"

namespace locus::server {

// Processes the events of its queue, and applies the decisions of the admission
// controller to the calls that arrive there: admits, defers or rejects them,
// and admits or rejects deferred calls later. Everything but the constructor,
// the destructor and Start() runs on the poller's own thread.
class CompletionQueuePoller {
 public:
  CompletionQueuePoller(UnaryEnvironment* environment, size_t index,
                        std::unique_ptr<grpc::ServerCompletionQueue> queue);
  // Requires that no call is handled or deferred.
  ~CompletionQueuePoller();

  void Start();

  UnaryEnvironment& environment() { return environment_; }
  grpc::ServerCompletionQueue* queue() { return queue_.queue.get(); }
  EventQueue* events() { return &queue_; }
  // Whether the queue is shut down, so that no operation may be started on it.
  bool is_closed() const { return queue_.is_closed; }

  // Admits, defers or rejects a call that has just arrived.
  void OnArrival(UnaryCall* call);
  // Removes a deferred call that was cancelled.
  void RemoveDeferred(UnaryCall* call);
  // Watches a call whose message is being read, until StopWatching.
  std::list<UnaryCall*>::iterator WatchRead(UnaryCall* call);
  void StopWatching(std::list<UnaryCall*>::iterator call) {
    reading_.erase(call);
  }

 private:
  void Run();
  grpc::CompletionQueue::NextStatus AwaitNext(void** tag, bool* ok);
  // Admits deferred calls while there is room, and rejects expired ones.
  void ProcessDeferred();
  bool AdmitOne(size_t method);
  void RejectExpired();
  // Publishes the arrival time of each method's next deferred call to the other
  // pollers, so that older calls are admitted first.
  void PublishOldest();
  // The estimated wait of a call like this one: deferred, then for a slot.
  double EstimateWait(const UnaryCall& call) const;
  // The estimated seconds between two admissions by this poller of calls like
  // this one.
  double EstimateInterval(const UnaryCall& call) const;
  // Rejects a call because it would have to wait for too long.
  void RejectFor(double wait, UnaryCall* call);
  // Frees the capacity of calls whose messages arrive too slowly.
  void ProcessSlowReads();

  UnaryEnvironment& environment_;
  AdmissionController& admission_;
  const size_t index_;
  EventQueue queue_;
  std::vector<TokenBucket> early_rejections_;           // per cost class
  std::vector<AdaptiveLifoQueue<UnaryCall>> deferred_;  // per method
  int deferred_count_ = 0;
  // Methods take turns when deferred calls are admitted and rejected.
  size_t next_to_admit_ = 0;
  size_t next_to_reject_ = 0;
  bool has_more_expired_ = false;  // RejectExpired stopped early
  bool has_published_ = false;     // a deferred call was published
  std::list<UnaryCall*> reading_;  // oldest first
  grpc::Alarm closing_;            // its tag is null
  std::thread thread_;
};

}  // namespace locus::server
