// Threads that do what may wait: as many as there are tasks, up to a limit, of
// which only some run at a time. What runs at once beyond the processors there
// are only gets into each other's way; what waits does not.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace locus::server {

// Lowers the priority of a thread that computes by a little: who takes calls
// in, answers health checks or serves metrics comes first when there is more to
// do than processors can.
void ComeSecond();

// Thread-safe.
class Workers {
 public:
  using Task = std::function<void()>;

  struct Limits {
    int threads = 1;
    int running = 1;  // and not waiting
  };

  explicit Workers(const Limits& limits) : limits_(limits) {}
  // Waits for all tasks.
  ~Workers();
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  // Has the task done, by whoever was busy last: its memory is warm. If too
  // many are busy, once one is not.
  void Run(Task task);

  // While it lives, its thread waits for something. Does nothing on other
  // threads.
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
  // These expect the lock to be held.
  bool MayStart() const;
  // Has someone look for a task.
  void StartOne();
  void WakeIdle();

  const Limits limits_;
  std::mutex mutex_;
  std::deque<Task> waiting_;
  int running_ = 0;
  std::vector<Idle*> idle_;  // the last one was busy last
  std::vector<std::thread> threads_;
  bool ending_ = false;
};

}  // namespace locus::server
