// Thread pool for data-parallel loops.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

namespace locus {

// A fixed set of worker threads that sleep while there is no work. One pool is
// normally shared by the whole process. Thread-safe: several threads may call
// ParallelFor() at the same time.
class ThreadPool {
 public:
  // `thread_count` includes the calling thread, so that 1 starts no workers.
  // Each worker calls `on_start` first, for example to lower its priority.
  // Throws std::system_error if the system cannot create that many threads, as
  // std::thread does.
  explicit ThreadPool(int thread_count,
                      const std::function<void()>& on_start = nullptr);
  // Waits for running work to finish.
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  // Number of threads that can run a loop, including the calling thread.
  int thread_count() const;

  // Calls body(i) once for each i in [0, count), on the calling thread and on
  // idle workers, and returns when all calls have returned. Items are started
  // in ascending order. `body` must not depend on which thread runs an item. If
  // `body` throws, the remaining items are skipped and the first exception is
  // rethrown on the calling thread. Nested calls are allowed.
  void ParallelFor(int64_t count, const std::function<void(int64_t)>& body);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace locus
