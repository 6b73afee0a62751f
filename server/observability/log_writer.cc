#include "server/observability/log_writer.h"

#include <poll.h>
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <csignal>
#include <utility>

#include "absl/strings/string_view.h"

namespace locus::server {
namespace {

// Max size of one write(). Such writes to a pipe are atomic, so lines of
// several processes do not mix.
constexpr size_t kMaxWriteBytes = PIPE_BUF;
// Interval at which the writer's thread checks whether it is to end, while the
// descriptor is not writable.
constexpr int kPollMilliseconds = 20;
// Time for which the writer's thread collects lines after a write. Under load,
// one write then serves many lines, and most calls do not wake the thread.
constexpr std::chrono::milliseconds kCollectTime(1);
// Pause after a write() that fails with EAGAIN although poll() reported the
// descriptor as writable.
constexpr std::chrono::milliseconds kRetryTime(1);

// Blocks all signals on the calling thread. SIGPIPE and SIGXFSZ, which a failed
// write() sends to its own thread, would otherwise end the process.
void BlockSignals() {
  sigset_t signals;
  sigfillset(&signals);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
}

}  // namespace

LogWriter::LogWriter(const Options& options)
    : fd_(options.fd), ring_(options.limits), thread_([this] { Run(); }) {}

LogWriter::~LogWriter() {
  {
    const MutexLock lock(&mutex_);
    stop_ = true;
  }
  wake_.NotifyAll();
  thread_.join();
}

void LogWriter::Append(std::string line) {
  bool wake = false;
  {
    const MutexLock lock(&mutex_);
    dropped_lines_ += ring_.Push(std::move(line));
    wake = is_idle_;
  }
  if (wake) wake_.NotifyOne();
}

bool LogWriter::Flush(std::chrono::milliseconds timeout) {
  const MutexLock lock(&mutex_);
  const int64_t end = ring_.end();
  ++flushes_;
  wake_.NotifyOne();
  const bool done = progress_.WaitFor(
      &mutex_, timeout, [this, end]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
        return FirstPending() >= end;
      });
  --flushes_;
  return done;
}

int64_t LogWriter::dropped_lines() const {
  const MutexLock lock(&mutex_);
  return dropped_lines_;
}

bool LogWriter::is_stopping() const {
  const MutexLock lock(&mutex_);
  return stop_;
}

int64_t LogWriter::FirstPending() const {
  return is_writing_ ? first_written_ : ring_.begin();
}

void LogWriter::Run() {
  BlockSignals();
  mutex_.Lock();
  while (AwaitLines()) {
    first_written_ = ring_.begin();
    is_writing_ = true;
    const std::string lines = ring_.Pop(kMaxWriteBytes);
    mutex_.Unlock();
    const int64_t lost = Write(lines);
    mutex_.Lock();
    is_writing_ = false;
    dropped_lines_ += lost;
    progress_.NotifyAll();
  }
  mutex_.Unlock();
}

bool LogWriter::AwaitLines() {
  if (ring_.empty()) {
    wake_.WaitFor(&mutex_, kCollectTime,
                  [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
                    return stop_ || flushes_ > 0;
                  });
  }
  is_idle_ = true;
  wake_.Wait(&mutex_, [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return stop_ || !ring_.empty();
  });
  is_idle_ = false;
  return !stop_;
}

int64_t LogWriter::Write(const std::string& lines) {
  // A torn line is ended first, so that it does not spoil the next one.
  const std::string text = is_inside_line_ ? "\n" + lines : lines;
  absl::string_view rest = text;
  while (!rest.empty() && AwaitWritable()) {
    const ssize_t written =
        write(fd_, rest.data(), std::min(rest.size(), kMaxWriteBytes));
    if (written > 0) {
      is_inside_line_ = rest[static_cast<size_t>(written) - 1] != '\n';
      rest.remove_prefix(static_cast<size_t>(written));
    } else if (written < 0 && errno == EAGAIN) {
      std::this_thread::sleep_for(kRetryTime);
    } else if (written == 0 || errno != EINTR) {
      break;
    }
  }
  const absl::string_view lost =
      rest.substr(rest.size() - std::min(rest.size(), lines.size()));
  return std::count(lost.begin(), lost.end(), '\n');
}

bool LogWriter::AwaitWritable() const {
  while (!is_stopping()) {
    pollfd target = {.fd = fd_, .events = POLLOUT, .revents = 0};
    if (poll(&target, 1, kPollMilliseconds) != 0) return true;
  }
  return false;
}

}  // namespace locus::server
