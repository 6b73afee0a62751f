#include "server/rpc/stream_threads.h"

#include <utility>

namespace locus::server {

StreamThreads::StreamThreads(int count) {
  try {
    for (int i = 0; i < count; ++i) threads_.emplace_back([this] { Loop(); });
  } catch (...) {
    Stop();
    throw;
  }
}

StreamThreads::~StreamThreads() { Stop(); }

void StreamThreads::Stop() {
  {
    const absl::MutexLock lock(&mutex_);
    is_stopping_ = true;
    changed_.SignalAll();
  }
  for (std::thread& thread : threads_) thread.join();
}

void StreamThreads::Run(std::function<void()> task) {
  const absl::MutexLock lock(&mutex_);
  tasks_.push_back(std::move(task));
  changed_.Signal();
}

void StreamThreads::Loop() {
  for (;;) {
    std::function<void()> task;
    {
      const absl::MutexLock lock(&mutex_);
      while (tasks_.empty()) {
        if (is_stopping_) return;
        changed_.Wait(&mutex_);
      }
      task = std::move(tasks_.front());
      tasks_.pop_front();
    }
    task();
  }
}

}  // namespace locus::server
