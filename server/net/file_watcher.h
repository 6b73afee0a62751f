// Detection of changes to files that the server reloads while it runs:
// certificates, keys and tokens.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "core/base/mutex.h"
#include "server/base/clock.h"

namespace locus::server {

// Returns the content of a file of at most 1 MiB. INVALID_ARGUMENT names the
// file and the reason.
absl::StatusOr<std::string> ReadSmallFile(const std::string& path);

// Decides when changed files are reloaded. A state is a string that differs
// whenever the files differ. A reload is due once the state differs from the
// loaded one and has been the same in two consecutive observations, so that a
// half-written file is rarely read. After a failed reload, the next one is due
// when the state changes again or kRetryInterval has passed, because a file may
// become readable without a visible change. Not thread-safe.
class ReloadPolicy {
 public:
  static constexpr std::chrono::seconds kRetryInterval{10};

  // `state` counts as loaded.
  explicit ReloadPolicy(std::string state);

  // Observes `state` at time `now`. Returns true if the files are to be
  // reloaded now.
  bool ShouldReload(const std::string& state, Clock::time_point now);
  // Records that the reload of the last observed state succeeded.
  void OnReloaded();

 private:
  std::string loaded_;
  std::string last_seen_;
  Clock::time_point next_attempt_;
};

// Polls files on a thread of its own and calls `on_change` when ReloadPolicy
// asks for it. `on_change` returns whether the reload succeeded; it runs on the
// watcher's thread, until the destructor returns.
//
// Polling by path, rather than inotify, follows symbolic links and works on
// network file systems and for mounted secrets, whose folders are replaced as a
// whole.
class FileWatcher {
 public:
  static constexpr std::chrono::milliseconds kPollInterval{250};

  // The state of the files at construction counts as loaded, so construct the
  // watcher before reading the files.
  FileWatcher(std::vector<std::string> paths, std::function<bool()> on_change,
              std::chrono::milliseconds poll_interval = kPollInterval);
  ~FileWatcher() ABSL_LOCKS_EXCLUDED(mutex_);
  FileWatcher(const FileWatcher&) = delete;
  FileWatcher& operator=(const FileWatcher&) = delete;

 private:
  void Run(ReloadPolicy policy) ABSL_LOCKS_EXCLUDED(mutex_);
  // Waits for the poll interval. Returns false if the thread is to end.
  bool AwaitNextPoll() ABSL_LOCKS_EXCLUDED(mutex_);
  // Returns identity, size and times of all files as a string.
  std::string ReadState() const;

  const std::vector<std::string> paths_;
  const std::function<bool()> on_change_;
  const std::chrono::milliseconds poll_interval_;
  Mutex mutex_;
  ConditionVariable stopped_;  // signals stop_
  bool stop_ ABSL_GUARDED_BY(mutex_) = false;
  // Declared last, so that its thread starts when all other members exist.
  std::thread thread_;
};

}  // namespace locus::server
