// Files that are replaced while the server runs: certificates, keys, tokens.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/statusor.h"

namespace locus::server {

// The whole of a small file. Messages name the file and the reason.
absl::StatusOr<std::string> ReadSmallFile(const std::string& path);

// Calls `on_change` from a thread of its own once a file looks different and
// has stopped changing, so that half a file is rarely read; again after a while
// if it returned false, for what could not be read may be readable then. It
// looks through links, and asks by name rather than by notification, since that
// is what holds for mounted secrets, whose folders are swapped, and for network
// file systems.
class WatchedFiles {
 public:
  static constexpr std::chrono::milliseconds kInterval{250};
  static constexpr std::chrono::seconds kRetryInterval{10};

  // What was there at construction is no change: construct before reading.
  WatchedFiles(std::vector<std::string> paths, std::function<bool()> on_change);
  ~WatchedFiles();
  WatchedFiles(const WatchedFiles&) = delete;
  WatchedFiles& operator=(const WatchedFiles&) = delete;

 private:
  std::string Look() const;

  const std::vector<std::string> paths_;
  const std::function<bool()> on_change_;
  std::mutex mutex_;
  std::condition_variable stopped_;
  bool stop_ = false;  // guarded by mutex_
  std::thread thread_;
};

}  // namespace locus::server
