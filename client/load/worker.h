// One sender of calls, with a completion queue and threads of its own, so that
// several do not wait for each other.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "client/load/schedule.h"
#include "client/load/statistics.h"
#include "grpcpp/completion_queue.h"
#include "grpcpp/generic/generic_stub.h"
#include "grpcpp/support/byte_buffer.h"

namespace locus::client::load {

// What is called. The request is bytes already, and what comes back is not
// looked into: the time of a call is the server's and the network's.
struct Target {
  std::string method;
  grpc::ByteBuffer request;
  int64_t timeout_nanos = 0;
};

struct WorkerOptions {
  std::vector<std::shared_ptr<grpc::Channel>> channels;
  Target target;
  // Null: closed loop, which keeps `concurrency` calls under way.
  std::unique_ptr<Schedule> schedule;
  int concurrency = 0;
  // A call that is due beyond this many waits for another to end, since memory
  // is finite. Its latency counts from when it was due all the same.
  int max_in_flight = 1;
  // A call that is due while the server asks this connection to wait (the
  // trailer grpc-retry-pushback-ms of a call it refused) is not sent, and
  // counts as refused.
  bool heed_pushback = false;
  // When the run began, by NowNanos. The others are relative to it.
  int64_t start = 0;
  // Calls that are due earlier are made but not counted.
  int64_t warm_up_nanos = 0;
  // Nothing is sent after that.
  int64_t end_nanos = 0;
};

// What ended since one looked last.
struct IntervalSums {
  Histogram latency;
  Histogram service;
  int64_t ok = 0;
  int64_t failed = 0;
  int64_t in_flight = 0;
};

// All about a worker that has ended.
struct WorkerTotals {
  Statistics statistics;
  // Calls that ended, counted or not.
  int64_t calls = 0;
  int64_t unsent = 0;
  int64_t unfinished = 0;
  int64_t held_back = 0;
  int64_t withheld = 0;
  // Of its threads.
  std::vector<double> cpu_seconds;
};

class Worker {
 public:
  // Starts at once.
  explicit Worker(WorkerOptions options);
  // Waits for it to end.
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  // Sends nothing more; what is under way goes on.
  void StopSending();
  // Cancels what is under way, once sending has stopped.
  void CancelCalls();
  bool ended() const { return ended_; }

  // Adds to `sums`, and begins anew.
  void TakeInterval(IntervalSums* sums);
  // Once it has ended.
  WorkerTotals TakeTotals();

 private:
  struct Call;

  void Send();
  // Makes the calls of the schedule. Returns how many were due but not sent.
  int64_t Follow(Schedule& schedule);
  void Receive();
  // Waits for the moment; false if sending has stopped by then.
  bool WaitUntilDue(int64_t intended);
  // Takes a place among those in flight, for which it waits if all are taken;
  // null if sending has stopped.
  Call* Acquire();
  void Launch(Call* call, int64_t intended);
  // Counts a call as refused instead, if its connection is asked to wait.
  bool Withhold(int64_t intended);
  void Finish(Call* call);
  // These two are called with the mutex held.
  void Count(const CallSample& sample);
  void ShutDownIfDone();
  // Whether a call that ended now is followed by another, in closed loop.
  bool GoesOn() const;
  int64_t Now() const;

  WorkerOptions options_;
  std::vector<std::unique_ptr<grpc::GenericStub>> stubs_;
  grpc::CompletionQueue queue_;
  std::atomic<size_t> next_stub_{0};
  // Until when each connection waits, by Now.
  std::vector<std::atomic<int64_t>> rest_until_;
  std::atomic<bool> stopped_{false};
  std::atomic<bool> ended_{false};

  std::mutex mutex_;
  std::condition_variable place_free_;
  std::vector<std::unique_ptr<Call>> calls_;
  std::vector<Call*> free_calls_;
  int in_flight_ = 0;
  bool sender_ended_ = false;
  bool cancelling_ = false;
  IntervalSums interval_;
  WorkerTotals totals_;

  std::thread receiver_;
  std::thread sender_;
};

}  // namespace locus::client::load
