#include "server/net/file_watcher.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "server/rpc/status.h"

namespace locus::server {
namespace {

constexpr size_t kMaxBytes = size_t{1} << 20;

absl::Status Unreadable(const std::string& path, absl::string_view reason) {
  return absl::InvalidArgumentError(
      absl::StrCat("cannot read ", Printable(path, 200), ": ", reason));
}

}  // namespace

absl::StatusOr<std::string> ReadSmallFile(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return Unreadable(path, strerror(errno));
  const absl::Cleanup closer = [fd] { close(fd); };
  std::string content;
  char buffer[4096];
  while (true) {
    const ssize_t count = read(fd, buffer, sizeof(buffer));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return Unreadable(path, strerror(errno));
    if (count == 0) return content;
    content.append(buffer, static_cast<size_t>(count));
    if (content.size() > kMaxBytes) {
      return Unreadable(path, "it has more than 1 MiB");
    }
  }
}

WatchedFiles::WatchedFiles(std::vector<std::string> paths,
                           std::function<bool()> on_change)
    : paths_(std::move(paths)),
      on_change_(std::move(on_change)),
      thread_([this, first = Look()]() mutable {
        std::string seen = std::move(first);
        std::string loaded = seen;
        std::chrono::steady_clock::time_point next_try;
        std::unique_lock lock(mutex_);
        while (!stopped_.wait_for(lock, kInterval, [this] { return stop_; })) {
          lock.unlock();
          std::string now = Look();
          const bool settled = now == seen;
          seen = std::move(now);
          const auto time = std::chrono::steady_clock::now();
          if (!settled) next_try = time;
          if (settled && seen != loaded && time >= next_try) {
            if (on_change_()) loaded = seen;
            next_try = time + kRetryInterval;
          }
          lock.lock();
        }
      }) {}

WatchedFiles::~WatchedFiles() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  stopped_.notify_all();
  thread_.join();
}

std::string WatchedFiles::Look() const {
  std::string look;
  for (const std::string& path : paths_) {
    struct stat info {};
    if (stat(path.c_str(), &info) != 0) {
      absl::StrAppend(&look, "none;");
      continue;
    }
    absl::StrAppend(&look, info.st_dev, ",", info.st_ino, ",", info.st_size,
                    ",", info.st_mtim.tv_sec, ".", info.st_mtim.tv_nsec, ",",
                    info.st_ctim.tv_sec, ".", info.st_ctim.tv_nsec, ";");
  }
  return look;
}

}  // namespace locus::server
