#include "client/io/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/base/printable.h"
#include "client/base/status_macros.h"
#include "client/io/temporary_file.h"

namespace locus::client {
namespace {

mode_t DefaultMode() {
  const mode_t mask = umask(0);
  umask(mask);
  return 0666 & ~mask;
}

// The file that a path refers to.
struct Target {
  // True for devices, pipes and the like, which are written in place instead of
  // being replaced.
  bool in_place = false;
  std::string path;
  mode_t mode = 0;

  static absl::StatusOr<Target> Find(const std::string& path) {
    struct stat info;
    if (stat(path.c_str(), &info) != 0) {
      return Target{.path = path, .mode = DefaultMode()};
    }
    if (S_ISDIR(info.st_mode)) {
      errno = EISDIR;
      return SystemError("cannot write", path);
    }
    Target target{.in_place = !S_ISREG(info.st_mode),
                  .path = path,
                  .mode = info.st_mode & 0777};
    // A symbolic link stays; the file it points to is replaced.
    if (char* resolved = realpath(path.c_str(), nullptr)) {
      target.path = resolved;
      std::free(resolved);
    }
    return target;
  }
};

absl::Status WriteParts(int descriptor, absl::string_view head,
                        absl::string_view body, const std::string& name) {
  CLIENT_RETURN_IF_ERROR(WriteDescriptor(descriptor, head, name));
  return WriteDescriptor(descriptor, body, name);
}

absl::Status WriteInPlace(const std::string& path, absl::string_view head,
                          absl::string_view body) {
  const int descriptor = open(path.c_str(), O_WRONLY | O_CLOEXEC);
  if (descriptor < 0) return SystemError("cannot write", path);
  const absl::Status status = WriteParts(descriptor, head, body, path);
  if (close(descriptor) != 0 && status.ok()) {
    return SystemError("cannot write", path);
  }
  return status;
}

}  // namespace

absl::StatusOr<FileReader> FileReader::Open(const std::string& path) {
  if (path == "-") return FileReader(STDIN_FILENO, "standard input");
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return SystemError("cannot read", path);
  return FileReader(descriptor, path);
}

FileReader::~FileReader() {
  if (descriptor_ > STDIN_FILENO) close(descriptor_);
}

FileReader::FileReader(FileReader&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)),
      name_(std::move(other.name_)) {}

absl::StatusOr<std::string> FileReader::Read(int64_t byte_count) {
  constexpr int64_t kChunkBytes = int64_t{4} << 20;
  std::string bytes;
  int64_t have = 0;
  while (have < byte_count) {
    const int64_t want = std::min(byte_count, have + kChunkBytes);
    if (static_cast<int64_t>(bytes.capacity()) < want) {
      bytes.reserve(std::min(byte_count, std::max(want, 2 * have)));
    }
    bytes.resize(want);
    const ssize_t got = read(descriptor_, bytes.data() + have, want - have);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return SystemError("cannot read", name_);
    if (got == 0) break;
    have += got;
  }
  bytes.resize(have);
  return bytes;
}

std::optional<int64_t> FileReader::RemainingBytes() const {
  struct stat info;
  if (fstat(descriptor_, &info) != 0 || !S_ISREG(info.st_mode)) {
    return std::nullopt;
  }
  const off_t at = lseek(descriptor_, 0, SEEK_CUR);
  if (at < 0) return std::nullopt;
  return std::max<int64_t>(info.st_size - at, 0);
}

absl::Status WriteDescriptor(int descriptor, absl::string_view bytes,
                             const std::string& name) {
  while (!bytes.empty()) {
    const ssize_t written = write(descriptor, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0 && errno == EPIPE) {
      return absl::CancelledError(absl::StrCat(
          "cannot write ", name, ": the reader has closed the pipe"));
    }
    if (written < 0) return SystemError("cannot write", name);
    bytes.remove_prefix(written);
  }
  return absl::OkStatus();
}

FileReplacement::FileReplacement() = default;
FileReplacement::~FileReplacement() = default;

absl::Status FileReplacement::Add(const std::string& path,
                                  absl::string_view head,
                                  absl::string_view body) {
  if (path == "-") {
    return WriteParts(STDOUT_FILENO, head, body, "standard output");
  }
  CLIENT_ASSIGN_OR_RETURN(const Target target, Target::Find(path));
  if (target.in_place) return WriteInPlace(path, head, body);
  CLIENT_ASSIGN_OR_RETURN(TemporaryFile file,
                          TemporaryFile::Create(target.path));
  CLIENT_RETURN_IF_ERROR(WriteParts(file.descriptor(), head, body, path));
  CLIENT_RETURN_IF_ERROR(file.Finish(target.mode));
  files_.push_back(std::move(file));
  return absl::OkStatus();
}

absl::Status FileReplacement::Commit() {
  for (TemporaryFile& file : files_) {
    CLIENT_RETURN_IF_ERROR(file.MoveToTarget());
  }
  files_.clear();
  return absl::OkStatus();
}

absl::Status WriteFile(const std::string& path, absl::string_view head,
                       absl::string_view body) {
  FileReplacement replacement;
  CLIENT_RETURN_IF_ERROR(replacement.Add(path, head, body));
  return replacement.Commit();
}

absl::Status WriteTextFile(const std::string& path, absl::string_view text) {
  return WriteFile(path, Printable(text), "");
}

absl::Status CheckWritable(const std::string& path) {
  if (path == "-") return absl::OkStatus();
  CLIENT_ASSIGN_OR_RETURN(const Target target, Target::Find(path));
  if (!target.in_place) return TemporaryFile::Create(target.path).status();
  return access(path.c_str(), W_OK) == 0 ? absl::OkStatus()
                                         : SystemError("cannot write", path);
}

}  // namespace locus::client
