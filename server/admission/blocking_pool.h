// A thread pool for tasks that may block.
//
// The pool starts a thread per task, up to a limit, but lets only some of them
// run at a time: threads beyond the number of processors only compete with each
// other, while blocked threads cost nothing. A task that is about to block says
// so with a BlockingPool::Wait, and another task runs meanwhile.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace locus::server {

// Lowers the priority of the calling thread a little. Threads that compute call
// it, so that pollers, health checks and metrics run first under overload.
void LowerThreadPriority();

// Thread-safe.
class BlockingPool {
 public:
  using Task = std::function<void()>;

  struct Limits {
    int threads = 1;
    int running = 1;  // threads that run a task and do not block
  };

  explicit BlockingPool(const Limits& limits) : limits_(limits) {}
  // Waits for all tasks.
  ~BlockingPool();
  BlockingPool(const BlockingPool&) = delete;
  BlockingPool& operator=(const BlockingPool&) = delete;

  // Runs the task on the thread that became idle last, whose memory is warm, or
  // on a new one. If too many tasks run, the task waits for one to finish or to
  // block.
  void Run(Task task);

  // Count of threads that run a task and do not block. For tests and metrics.
  int running() const;

  // Marks the calling thread as blocked for as long as the object lives. Has no
  // effect on threads that belong to no pool.
  class Wait {
   public:
    Wait();
    ~Wait();
    Wait(const Wait&) = delete;
    Wait& operator=(const Wait&) = delete;
  };

 private:
  // A thread that waits for a task.
  struct Idle {
    std::condition_variable wake;
    bool awake = false;
  };

  void Loop();
  // These require mutex_ to be held.
  bool MayStart() const;
  // Wakes or starts a thread that looks for a task.
  void StartOne();
  void WakeIdle();

  const Limits limits_;
  mutable std::mutex mutex_;  // guards the members below
  std::deque<Task> waiting_;
  int running_ = 0;
  std::vector<Idle*> idle_;  // the last one became idle last
  std::vector<std::thread> threads_;
  bool ending_ = false;
};

}  // namespace locus::server
