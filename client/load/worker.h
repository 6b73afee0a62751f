// A worker of the load tester: sends calls and records their statistics.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "client/load/schedule.h"
#include "client/load/statistics.h"
#include "grpcpp/completion_queue.h"
#include "grpcpp/generic/generic_stub.h"
#include "grpcpp/support/byte_buffer.h"

namespace locus::client::load {

// The call to make. The request is serialized in advance and responses are not
// parsed, so that the client spends as little time as possible per call.
struct Target {
  std::string method;
  grpc::ByteBuffer request;
  int64_t timeout_nanos = 0;
};

struct WorkerOptions {
  std::vector<std::shared_ptr<grpc::Channel>> channels;
  Target target;
  // Schedule of an open loop; null for a closed loop.
  std::unique_ptr<Schedule> schedule;
  // Calls kept in flight by a closed loop.
  int concurrency = 0;
  // Maximum number of calls in flight, which bounds memory. A call that is due
  // beyond it waits until another call ends. Its latency still counts from the
  // time it was due.
  int max_in_flight = 1;
  // Honour the server's pushback (the trailer grpc-retry-pushback-ms of a
  // rejected call): calls that are due on that connection during the pushback
  // are not sent and count as rejected.
  bool respect_pushback = false;
  // Start of the run by NowNanos(). The times below are relative to it.
  int64_t start = 0;
  // End of the warm-up. Calls that are due earlier are made but not counted.
  int64_t warm_up_nanos = 0;
  // No call is sent after this time.
  int64_t end_nanos = 0;
};

// Statistics since the last call of Worker::TakeInterval().
struct IntervalSums {
  Histogram latency;
  Histogram service;
  int64_t ok = 0;
  int64_t failed = 0;
  int64_t in_flight = 0;
};

// Totals of a worker that has ended. See Result for the counters.
struct WorkerTotals {
  Statistics statistics;
  // Number of finished calls, including the warm-up.
  int64_t calls = 0;
  int64_t unsent = 0;
  int64_t unfinished = 0;
  int64_t delayed = 0;
  int64_t suppressed = 0;
  // CPU time of each thread of the worker.
  std::vector<double> cpu_seconds;
};

// Sends calls on one thread and receives their results on another, with a
// completion queue of its own, so that several workers do not contend.
//
// Without a schedule the worker is a closed loop: each finished call starts the
// next one. With a schedule it is an open loop: calls start when they are due,
// independently of earlier calls.
//
// Thread-safe.
class Worker {
 public:
  // Starts the threads.
  explicit Worker(WorkerOptions options);
  // Stops sending and blocks until all calls have ended.
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  // Stops sending. Calls in flight continue.
  void StopSending() ABSL_LOCKS_EXCLUDED(mutex_);
  // Cancels the calls in flight. Call StopSending() first.
  void CancelCalls() ABSL_LOCKS_EXCLUDED(mutex_);
  bool ended() const { return ended_; }

  // Adds the statistics since the last call of this function to `sums`.
  void TakeInterval(IntervalSums* sums) ABSL_LOCKS_EXCLUDED(mutex_);
  // Returns the totals. Call once, after ended() has become true.
  WorkerTotals TakeTotals() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  struct Call;

  void Send() ABSL_LOCKS_EXCLUDED(mutex_);
  // Makes the calls of the schedule. Returns the number of calls that were due
  // but not sent.
  int64_t RunSchedule(Schedule& schedule) ABSL_LOCKS_EXCLUDED(mutex_);
  void Receive() ABSL_LOCKS_EXCLUDED(mutex_);
  // Sleeps until a call is due. Returns false if sending has stopped.
  bool WaitUntilDue(int64_t intended);
  // Takes a slot for a call, and blocks while max_in_flight calls are in
  // flight. Returns null if sending has stopped.
  Call* Acquire() ABSL_LOCKS_EXCLUDED(mutex_);
  void Launch(Call* call, int64_t intended) ABSL_LOCKS_EXCLUDED(mutex_);
  // If the pushback of the next connection lasts, counts the call as rejected
  // and returns true.
  bool Suppress(int64_t intended) ABSL_LOCKS_EXCLUDED(mutex_);
  void Finish(Call* call) ABSL_LOCKS_EXCLUDED(mutex_);
  // Records a finished call.
  void Count(const CallSample& sample) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Shuts the completion queue down after the last call.
  void ShutDownIfDone() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Whether a closed loop starts another call.
  bool ShouldContinue() const;
  // Returns the time since the start of the run.
  int64_t Now() const;

  WorkerOptions options_;
  std::vector<std::unique_ptr<grpc::GenericStub>> stubs_;
  grpc::CompletionQueue queue_;
  std::atomic<size_t> next_stub_{0};
  // End of the pushback of each connection, by Now().
  std::vector<std::atomic<int64_t>> pushback_until_;
  std::atomic<bool> stopped_{false};
  std::atomic<bool> ended_{false};

  absl::Mutex mutex_;
  absl::CondVar slot_free_;
  std::vector<std::unique_ptr<Call>> calls_ ABSL_GUARDED_BY(mutex_);
  std::vector<Call*> free_calls_ ABSL_GUARDED_BY(mutex_);
  int in_flight_ ABSL_GUARDED_BY(mutex_) = 0;
  bool sender_ended_ ABSL_GUARDED_BY(mutex_) = false;
  bool cancelling_ ABSL_GUARDED_BY(mutex_) = false;
  IntervalSums interval_ ABSL_GUARDED_BY(mutex_);
  WorkerTotals totals_ ABSL_GUARDED_BY(mutex_);

  std::thread receiver_;
  std::thread sender_;
};

}  // namespace locus::client::load
