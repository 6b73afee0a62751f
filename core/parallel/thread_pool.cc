#include "core/parallel/thread_pool.h"

#include <algorithm>
#include <atomic>
#include <deque>
#include <exception>
#include <thread>
#include <vector>

#include <hwy/cache_control.h>

#include "absl/base/thread_annotations.h"
#include "core/base/mutex.h"

namespace locus {
namespace {

// Spins until the condition holds or some tens of microseconds (on x86-64) have
// passed. Call it before blocking: most loops follow one another closely, and
// most workers finish at about the same time, so that spinning is usually
// cheaper than sleeping and being woken.
template <typename Condition>
void SpinBriefly(const Condition& condition) {
  constexpr int kMaxSpins = 1000;
  for (int spin = 0; spin < kMaxSpins && !condition(); ++spin) hwy::Pause();
}

// State of one ParallelFor() call, shared by the caller and its workers.
struct Job {
  Job(int64_t item_count, const std::function<void(int64_t)>& work)
      : count(item_count), body(work) {}

  const int64_t count;
  // Valid while items remain: ParallelFor() returns only after all items are
  // done, and a worker that starts later finds no item left.
  const std::function<void(int64_t)>& body;
  std::atomic<int64_t> next{0};
  Mutex mutex;
  ConditionVariable all_done;
  std::atomic<int64_t> done{0};  // written under the mutex

  std::atomic<bool> failed = false;
  // The first exception.
  std::exception_ptr failure ABSL_GUARDED_BY(mutex);

  // Runs items until none is left.
  void Run() ABSL_LOCKS_EXCLUDED(mutex) {
    int64_t finished = 0;
    for (int64_t i; (i = next.fetch_add(1)) < count; ++finished) {
      if (!failed.load(std::memory_order_relaxed)) RunItem(i);
    }
    if (finished == 0) return;
    const MutexLock lock(&mutex);
    done += finished;
    if (done == count) all_done.NotifyAll();
  }

  // Runs one item and keeps its exception for Wait(). The only exception that
  // core's loop bodies throw is std::bad_alloc.
  void RunItem(int64_t i) ABSL_LOCKS_EXCLUDED(mutex) {
    try {
      body(i);
    } catch (...) {
      const MutexLock lock(&mutex);
      if (!failed.exchange(true)) failure = std::current_exception();
    }
  }

  // Waits until all items are done; rethrows the first exception.
  void Wait() ABSL_LOCKS_EXCLUDED(mutex) {
    const auto is_done = [this] { return done == count; };
    SpinBriefly(is_done);
    const MutexLock lock(&mutex);
    all_done.Wait(&mutex, is_done);
    if (failure) std::rethrow_exception(failure);
  }
};

}  // namespace

struct ThreadPool::State {
  Mutex mutex;
  ConditionVariable work_ready;
  // One entry per requested worker.
  std::deque<std::shared_ptr<Job>> queue ABSL_GUARDED_BY(mutex);
  std::atomic<bool> has_work = false;  // whether the queue is not empty
  bool stopping ABSL_GUARDED_BY(mutex) = false;
  std::vector<std::thread> threads;

  // Ends the threads once the queue is empty.
  ~State() {
    {
      const MutexLock lock(&mutex);
      stopping = true;
    }
    work_ready.NotifyAll();
    for (std::thread& thread : threads) thread.join();
  }

  void Loop() ABSL_LOCKS_EXCLUDED(mutex) {
    while (const auto job = Take()) {
      job->Run();
      SpinBriefly([this] { return has_work.load(std::memory_order_relaxed); });
    }
  }

  // Waits for the next job; null once the pool is stopping and the queue is
  // empty.
  std::shared_ptr<Job> Take() ABSL_LOCKS_EXCLUDED(mutex) {
    const MutexLock lock(&mutex);
    work_ready.Wait(&mutex, [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
      return stopping || !queue.empty();
    });
    if (queue.empty()) return nullptr;
    auto job = std::move(queue.front());
    queue.pop_front();
    has_work = !queue.empty();
    return job;
  }
};

ThreadPool::ThreadPool(int thread_count, const std::function<void()>& on_start)
    : state_(std::make_unique<State>()) {
  for (int i = 1; i < thread_count; ++i) {
    state_->threads.emplace_back([state = state_.get(), on_start] {
      if (on_start) on_start();
      state->Loop();
    });
  }
}

ThreadPool::~ThreadPool() = default;

int ThreadPool::thread_count() const {
  return static_cast<int>(state_->threads.size()) + 1;
}

void ThreadPool::ParallelFor(int64_t count,
                             const std::function<void(int64_t)>& body) {
  const int64_t workers = std::min<int64_t>(
      count - 1, static_cast<int64_t>(state_->threads.size()));
  if (workers <= 0) {
    for (int64_t i = 0; i < count; ++i) body(i);
    return;
  }
  const auto job = std::make_shared<Job>(count, body);
  {
    const MutexLock lock(&state_->mutex);
    for (int64_t i = 0; i < workers; ++i) state_->queue.push_back(job);
    state_->has_work = true;
  }
  for (int64_t i = 0; i < workers; ++i) state_->work_ready.NotifyOne();
  job->Run();
  job->Wait();
}

}  // namespace locus
