#include "client/io/temporary_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"

namespace locus::client {

// A fixed buffer because a signal handler must not touch a std::string.
struct UnfinishedFile {
  char path[PATH_MAX];
  std::atomic<bool> is_used{false};
  UnfinishedFile* next = nullptr;
};

namespace {

// Entries are reused but never freed, so that a signal handler can walk the
// list at any time.
std::atomic<UnfinishedFile*> unfinished_files{nullptr};

// Returns an unused entry, which is marked as used.
UnfinishedFile* TakeEntry() {
  UnfinishedFile* head = unfinished_files.load();
  for (UnfinishedFile* entry = head; entry != nullptr; entry = entry->next) {
    bool unused = false;
    if (entry->is_used.compare_exchange_strong(unused, true)) return entry;
  }
  auto* entry = new UnfinishedFile;
  entry->path[0] = '\0';
  entry->is_used = true;
  entry->next = head;
  while (!unfinished_files.compare_exchange_weak(entry->next, entry)) {
  }
  return entry;
}

// Some file systems cannot make single files durable and say so.
bool IsSyncUnsupported(int error) {
  return error == EINVAL || error == ENOSYS || error == EOPNOTSUPP;
}

}  // namespace

absl::Status SystemError(absl::string_view what, absl::string_view name) {
  const int error = errno;
  return absl::ErrnoToStatus(error, absl::StrCat(what, " ", name));
}

absl::StatusOr<TemporaryFile> TemporaryFile::Create(const std::string& target) {
  std::string path = absl::StrCat(target, ".tmp-XXXXXX");
  const int descriptor = mkostemp(path.data(), O_CLOEXEC);
  if (descriptor < 0) return SystemError("cannot write", target);
  return TemporaryFile(descriptor, std::move(path), target);
}

TemporaryFile::TemporaryFile(int descriptor, std::string path,
                             std::string target)
    : descriptor_(descriptor),
      path_(std::move(path)),
      target_(std::move(target)) {
  // mkostemp() fails for longer paths.
  if (path_.size() >= sizeof(UnfinishedFile::path)) return;
  unfinished_ = TakeEntry();
  std::memcpy(unfinished_->path, path_.c_str(), path_.size() + 1);
}

TemporaryFile::TemporaryFile(TemporaryFile&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)),
      path_(std::exchange(other.path_, "")),
      target_(std::move(other.target_)),
      unfinished_(std::exchange(other.unfinished_, nullptr)) {}

TemporaryFile::~TemporaryFile() {
  if (descriptor_ >= 0) close(descriptor_);
  if (!path_.empty()) unlink(path_.c_str());
  if (unfinished_ == nullptr) return;
  unfinished_->path[0] = '\0';
  unfinished_->is_used = false;
}

absl::Status TemporaryFile::Finish(mode_t mode) {
  if (fchmod(descriptor_, mode) != 0 ||
      (fsync(descriptor_) != 0 && !IsSyncUnsupported(errno)) ||
      close(std::exchange(descriptor_, -1)) != 0) {
    return SystemError("cannot write", target_);
  }
  return absl::OkStatus();
}

absl::Status TemporaryFile::MoveToTarget() {
  if (rename(path_.c_str(), target_.c_str()) != 0) {
    return SystemError("cannot write", target_);
  }
  path_.clear();
  return absl::OkStatus();
}

void RemoveUnfinishedFiles() {
  for (const UnfinishedFile* entry = unfinished_files.load(); entry != nullptr;
       entry = entry->next) {
    if (entry->path[0] != '\0') unlink(entry->path);
  }
}

}  // namespace locus::client
