#include "server/net/file_watcher.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "server/base/printable.h"

namespace locus::server {
namespace {

constexpr size_t kMaxFileBytes = size_t{1} << 20;

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
    if (content.size() > kMaxFileBytes) {
      return Unreadable(path, "the file is larger than 1 MiB");
    }
  }
}

ReloadPolicy::ReloadPolicy(std::string state)
    : loaded_(std::move(state)), last_seen_(loaded_) {}

bool ReloadPolicy::ShouldReload(const std::string& state,
                                Clock::time_point now) {
  const bool settled = state == last_seen_;
  last_seen_ = state;
  if (!settled) next_attempt_ = now;
  if (!settled || last_seen_ == loaded_ || now < next_attempt_) return false;
  next_attempt_ = now + kRetryInterval;
  return true;
}

void ReloadPolicy::OnReloaded() { loaded_ = last_seen_; }

FileWatcher::FileWatcher(std::vector<std::string> paths,
                         std::function<bool()> on_change,
                         std::chrono::milliseconds poll_interval)
    : paths_(std::move(paths)),
      on_change_(std::move(on_change)),
      poll_interval_(poll_interval),
      thread_([this, policy = ReloadPolicy(ReadState())]() mutable {
        Run(std::move(policy));
      }) {}

FileWatcher::~FileWatcher() {
  {
    const MutexLock lock(&mutex_);
    stop_ = true;
  }
  stopped_.NotifyAll();
  thread_.join();
}

void FileWatcher::Run(ReloadPolicy policy) {
  while (AwaitNextPoll()) {
    if (policy.ShouldReload(ReadState(), Clock::now()) && on_change_()) {
      policy.OnReloaded();
    }
  }
}

bool FileWatcher::AwaitNextPoll() {
  const MutexLock lock(&mutex_);
  return !stopped_.WaitFor(
      &mutex_, poll_interval_,
      [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return stop_; });
}

std::string FileWatcher::ReadState() const {
  std::string state;
  for (const std::string& path : paths_) {
    struct stat info {};
    if (stat(path.c_str(), &info) != 0) {
      absl::StrAppend(&state, "none;");
      continue;
    }
    absl::StrAppend(&state, info.st_dev, ",", info.st_ino, ",", info.st_size,
                    ",", info.st_mtim.tv_sec, ".", info.st_mtim.tv_nsec, ",",
                    info.st_ctim.tv_sec, ".", info.st_ctim.tv_nsec, ";");
  }
  return state;
}

}  // namespace locus::server
