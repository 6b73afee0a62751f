// The threads that compute, shared by everything in the process.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

namespace locus {

// A fixed set of threads that sleep while there is nothing to do. Safe to use
// from any thread, several at once.
class ThreadPool {
 public:
  // `thread_count` counts the calling thread, so that 1 starts none. Each
  // thread that is started begins with `on_start`, which may lower its
  // priority, say.
  explicit ThreadPool(int thread_count,
                      const std::function<void()>& on_start = nullptr);
  // Waits for running work.
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int thread_count() const;

  // Calls body(i) once for every i in [0, count), on the calling thread and on
  // pool threads that are free, and returns when all have returned. Items are
  // handed out in order. `body` must not depend on which thread runs which
  // item. If it throws (memory can run out), the items left are dropped and the
  // caller gets the exception. Nested calls are allowed.
  void ParallelFor(int64_t count, const std::function<void(int64_t)>& body);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace locus
