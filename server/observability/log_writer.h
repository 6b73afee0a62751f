// Writes log lines to a file descriptor without ever blocking the threads that
// log.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "core/base/mutex.h"
#include "server/observability/log_ring.h"

namespace locus::server {

// A thread that writes lines to a descriptor, in the order of Append(). Lines
// wait in a LogRing, so that a slow or blocked reader of the descriptor (a full
// pipe, a stopped terminal) costs log lines, not calls. Thread-safe.
//
// The descriptor is usually standard error, which shares its open file
// description, and thus O_NONBLOCK, with other processes. The writer therefore
// leaves the descriptor in its mode. It waits with poll() until the descriptor
// is writable, and then writes at most PIPE_BUF bytes: to a pipe that poll()
// reports as writable, such a write does not block, and it is atomic.
// docs/adr/0012-log-writer-thread.md compares the alternatives.
//
// If another process writes to the same pipe at the same time, write() can
// still block. That blocks the writer's thread only: Append() and Flush() do
// not wait for it, and the end of the process does not either, unless it
// destroys the writer.
class LogWriter {
 public:
  struct Options {
    int fd;
    // Enough for more than a second of 10,000 calls per second.
    LogRing::Limits limits = {.max_lines = 16'384, .max_bytes = 4 << 20};
  };

  // Does not take ownership of the descriptor.
  explicit LogWriter(const Options& options);
  // Ends the thread. Lines that are not written yet are dropped; call Flush()
  // first to keep them.
  ~LogWriter() ABSL_LOCKS_EXCLUDED(mutex_);
  LogWriter(const LogWriter&) = delete;
  LogWriter& operator=(const LogWriter&) = delete;

  // Queues a line, which ends with its only newline. If the ring is full, its
  // oldest lines are dropped. Never waits for the descriptor.
  void Append(std::string line) ABSL_LOCKS_EXCLUDED(mutex_);

  // Waits until all lines appended so far are written or dropped, for at most
  // `timeout`. Returns false if the timeout has passed.
  bool Flush(std::chrono::milliseconds timeout) ABSL_LOCKS_EXCLUDED(mutex_);

  // Returns the number of lines that were dropped: displaced from the full
  // ring, or lost because write() failed.
  int64_t dropped_lines() const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  void Run() ABSL_LOCKS_EXCLUDED(mutex_);
  // Waits for lines in the ring. Returns false if the thread is to end.
  bool AwaitLines() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Writes the lines and returns the number of lines that could not be written
  // completely.
  int64_t Write(const std::string& lines) ABSL_LOCKS_EXCLUDED(mutex_);
  // Waits until the descriptor is writable or has an error, which write() will
  // report. Returns false if the thread is to end.
  bool AwaitWritable() const ABSL_LOCKS_EXCLUDED(mutex_);
  bool is_stopping() const ABSL_LOCKS_EXCLUDED(mutex_);
  // Returns the number of the oldest line that is neither written nor dropped.
  int64_t FirstPending() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const int fd_;
  // Whether the last byte written is inside of a line, because write() failed
  // before the end of the line. Used by the writer's thread only.
  bool is_inside_line_ = false;
  mutable Mutex mutex_;
  ConditionVariable wake_;      // wakes the writer's thread
  ConditionVariable progress_;  // wakes Flush()
  LogRing ring_ ABSL_GUARDED_BY(mutex_);
  int64_t dropped_lines_ ABSL_GUARDED_BY(mutex_) = 0;
  bool is_writing_ ABSL_GUARDED_BY(mutex_) = false;
  // The first line of the write, if is_writing_.
  int64_t first_written_ ABSL_GUARDED_BY(mutex_) = 0;
  // Whether the writer waits for a line.
  bool is_idle_ ABSL_GUARDED_BY(mutex_) = false;
  int flushes_ ABSL_GUARDED_BY(mutex_) = 0;  // threads in Flush()
  bool stop_ ABSL_GUARDED_BY(mutex_) = false;
  // Declared last, so that its thread starts when all other members exist.
  std::thread thread_;
};

}  // namespace locus::server
