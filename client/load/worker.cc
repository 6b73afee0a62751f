#include "client/load/worker.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

#include "client/load/clock.h"
#include "grpc/support/time.h"
#include "grpcpp/channel.h"
#include "grpcpp/client_context.h"

namespace locus::client::load {
namespace {

// Maximum sleep of the sender between checks whether to stop.
constexpr int64_t kMaxSleepNanos = int64_t{20} * 1000 * 1000;

// Returns the time in a trailer, a decimal number of units of `unit`
// nanoseconds; nullopt if it is missing or malformed.
std::optional<int64_t> TrailerNanos(const grpc::ClientContext& context,
                                    const char* key, int64_t unit = 1000) {
  const auto& trailers = context.GetServerTrailingMetadata();
  const auto found = trailers.find(key);
  if (found == trailers.end()) return std::nullopt;
  int64_t count = 0;
  const char* const begin = found->second.data();
  const char* const end = begin + found->second.size();
  if (std::from_chars(begin, end, count).ec != std::errc()) {
    return std::nullopt;
  }
  return std::clamp<int64_t>(count, 0, Histogram::kMaxNanos / unit) * unit;
}

}  // namespace

// State of one call. Reused by later calls, to avoid allocations.
struct Worker::Call {
  // Held by Launch(), since the call may end before Launch() returns.
  absl::Mutex launching;
  std::optional<grpc::ClientContext> context;
  grpc::ByteBuffer response;
  grpc::Status status;
  // Allocated in the arena of the context's call, so it is destroyed before the
  // context.
  std::unique_ptr<grpc::GenericClientAsyncResponseReader> reader;
  int64_t intended = 0;
  int64_t started = 0;
  size_t stub = 0;
  bool in_flight = false;
};

Worker::Worker(WorkerOptions options)
    : options_(std::move(options)), pushback_until_(options_.channels.size()) {
  for (const auto& channel : options_.channels) {
    stubs_.push_back(std::make_unique<grpc::GenericStub>(channel));
  }
  receiver_ = std::thread([this] { Receive(); });
  sender_ = std::thread([this] { Send(); });
}

Worker::~Worker() {
  StopSending();
  sender_.join();
  receiver_.join();
}

int64_t Worker::Now() const { return NowNanos() - options_.start; }

void Worker::StopSending() {
  const absl::MutexLock lock(&mutex_);
  stopped_ = true;
  slot_free_.SignalAll();
}

void Worker::CancelCalls() {
  const absl::MutexLock lock(&mutex_);
  cancelling_ = true;
  for (const auto& call : calls_) {
    if (call->in_flight) call->context->TryCancel();
  }
}

void Worker::TakeInterval(IntervalSums* sums) {
  const absl::MutexLock lock(&mutex_);
  sums->latency.Add(interval_.latency);
  sums->service.Add(interval_.service);
  sums->ok += interval_.ok;
  sums->failed += interval_.failed;
  sums->in_flight += in_flight_;
  interval_.latency.Clear();
  interval_.service.Clear();
  interval_.ok = interval_.failed = 0;
}

WorkerTotals Worker::TakeTotals() {
  const absl::MutexLock lock(&mutex_);
  return std::move(totals_);
}

void Worker::Send() {
  DisableTimerSlack();
  int64_t unsent = 0;
  if (options_.schedule == nullptr) {
    // Starts the first calls. From then on, Finish() starts the next call.
    for (int i = 0; i < options_.concurrency && WaitUntilDue(0); ++i) {
      if (Call* call = Acquire(); call != nullptr) Launch(call, Now());
    }
  } else {
    unsent = RunSchedule(*options_.schedule);
  }
  const absl::MutexLock lock(&mutex_);
  totals_.unsent = unsent;
  totals_.cpu_seconds.push_back(ThreadCpuSeconds());
  sender_ended_ = true;
  ShutDownIfDone();
}

int64_t Worker::RunSchedule(Schedule& schedule) {
  std::optional<int64_t> due = schedule.Next();
  for (; due.has_value() && WaitUntilDue(*due); due = schedule.Next()) {
    if (options_.respect_pushback && Suppress(*due)) continue;
    Call* const call = Acquire();
    if (call == nullptr) return 0;
    Launch(call, *due);
  }
  int64_t unsent = 0;
  for (; due.has_value() && !stopped_; due = schedule.Next()) {
    if (*due >= options_.warm_up_nanos) ++unsent;
  }
  return unsent;
}

bool Worker::WaitUntilDue(int64_t intended) {
  int64_t now = Now();
  for (; now < intended && !stopped_; now = Now()) {
    SleepUntil(options_.start + std::min(intended, now + kMaxSleepNanos));
  }
  return !stopped_ && now < options_.end_nanos;
}

Worker::Call* Worker::Acquire() {
  const absl::MutexLock lock(&mutex_);
  if (in_flight_ >= options_.max_in_flight) {
    ++totals_.delayed;
    while (in_flight_ >= options_.max_in_flight && !stopped_) {
      slot_free_.Wait(&mutex_);
    }
  }
  if (stopped_) return nullptr;
  if (free_calls_.empty()) {
    calls_.push_back(std::make_unique<Call>());
    free_calls_.push_back(calls_.back().get());
  }
  Call* const call = free_calls_.back();
  free_calls_.pop_back();
  ++in_flight_;
  return call;
}

bool Worker::Suppress(int64_t intended) {
  const int64_t now = Now();
  if (pushback_until_[next_stub_ % stubs_.size()] <= now) return false;
  ++next_stub_;
  const absl::MutexLock lock(&mutex_);
  Count({.intended = intended,
         .started = now,
         .ended = now,
         .code = absl::StatusCode::kUnavailable});
  // Count() has counted a call, but none was made.
  --totals_.calls;
  ++totals_.suppressed;
  return true;
}

void Worker::Launch(Call* call, int64_t intended) {
  {
    // CancelCalls() may access the context from now on.
    const absl::MutexLock lock(&mutex_);
    call->context.emplace();
    call->in_flight = true;
    if (cancelling_) call->context->TryCancel();
  }
  const absl::MutexLock launching(&call->launching);
  call->intended = intended;
  call->started = Now();
  call->context->set_deadline(gpr_time_add(
      gpr_now(GPR_CLOCK_MONOTONIC),
      gpr_time_from_nanos(options_.target.timeout_nanos, GPR_TIMESPAN)));
  call->stub = next_stub_++ % stubs_.size();
  call->reader = stubs_[call->stub]->PrepareUnaryCall(
      &*call->context, options_.target.method, options_.target.request,
      &queue_);
  call->reader->StartCall();
  call->reader->Finish(&call->response, &call->status, call);
}

void Worker::Receive() {
  void* tag = nullptr;
  bool ok = false;
  while (queue_.Next(&tag, &ok)) Finish(static_cast<Call*>(tag));
  const absl::MutexLock lock(&mutex_);
  totals_.cpu_seconds.push_back(ThreadCpuSeconds());
  ended_ = true;
}

void Worker::Finish(Call* call) {
  const int64_t ended = Now();
  { const absl::MutexLock launched(&call->launching); }
  const CallSample sample{
      .intended = call->intended,
      .started = call->started,
      .ended = ended,
      .code = static_cast<absl::StatusCode>(call->status.error_code()),
      .queue_nanos = TrailerNanos(*call->context, "locus-queue-us"),
      .compute_nanos = TrailerNanos(*call->context, "locus-compute-us")};
  if (options_.respect_pushback &&
      sample.code == absl::StatusCode::kUnavailable) {
    const auto wait = TrailerNanos(*call->context, "grpc-retry-pushback-ms",
                                   int64_t{1000} * 1000);
    if (wait.has_value()) pushback_until_[call->stub] = ended + *wait;
  }
  call->response.Clear();
  call->reader.reset();
  // In a closed loop the next call keeps the slot of this one. If the slot were
  // released in between, ShutDownIfDone() might end the run.
  const bool again = options_.schedule == nullptr && ShouldContinue();
  {
    const absl::MutexLock lock(&mutex_);
    call->in_flight = false;
    call->context.reset();
    Count(sample);
    if (!again) {
      free_calls_.push_back(call);
      --in_flight_;
      slot_free_.Signal();
      ShutDownIfDone();
    }
  }
  if (again) Launch(call, Now());
}

void Worker::Count(const CallSample& sample) {
  ++totals_.calls;
  const bool success = sample.code == absl::StatusCode::kOk;
  if (cancelling_ && sample.code == absl::StatusCode::kCancelled) {
    ++totals_.unfinished;
    return;
  }
  ++(success ? interval_.ok : interval_.failed);
  if (success) {
    interval_.latency.Record(sample.ended - sample.intended);
    interval_.service.Record(sample.ended - sample.started);
  }
  if (sample.intended >= options_.warm_up_nanos) {
    totals_.statistics.Add(sample);
  }
}

bool Worker::ShouldContinue() const {
  return !stopped_ && Now() < options_.end_nanos;
}

void Worker::ShutDownIfDone() {
  if (sender_ended_ && in_flight_ == 0) queue_.Shutdown();
}

}  // namespace locus::client::load
