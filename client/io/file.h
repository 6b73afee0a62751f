// Reading and writing of files. The path "-" stands for standard input or
// output.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "client/io/temporary_file.h"

namespace locus::client {

// Reads a file sequentially. Error messages name the file.
class FileReader {
 public:
  static absl::StatusOr<FileReader> Open(const std::string& path);
  ~FileReader();
  FileReader(FileReader&& other) noexcept;
  FileReader(const FileReader&) = delete;
  FileReader& operator=(const FileReader&) = delete;

  // Returns the next `byte_count` bytes, or fewer at the end of the file.
  // Allocates memory as data arrives, so a large `byte_count` is harmless.
  absl::StatusOr<std::string> Read(int64_t byte_count);
  // Returns the number of bytes not read yet, or nullopt unless the file is a
  // regular file.
  std::optional<int64_t> RemainingBytes() const;
  // Returns the path, or "standard input", for messages.
  const std::string& name() const { return name_; }

 private:
  FileReader(int descriptor, std::string name)
      : descriptor_(descriptor), name_(std::move(name)) {}

  int descriptor_;
  std::string name_;
};

// Replaces several files together. All of them are written to temporary files
// before the first one is replaced, so that no file changes if one of them
// cannot be written, for example because the disk is full. The destructor
// removes the temporary files unless Commit() has been called.
class FileReplacement {
 public:
  FileReplacement();
  ~FileReplacement();
  FileReplacement(const FileReplacement&) = delete;
  FileReplacement& operator=(const FileReplacement&) = delete;

  // Writes `head` followed by `body` to a temporary file next to `path` and
  // makes it durable. A symbolic link is followed. A device, a pipe and, for
  // "-", standard output are written immediately. Error messages name the file
  // and the reason.
  absl::Status Add(const std::string& path, absl::string_view head,
                   absl::string_view body = "");
  // Replaces the files in the order of Add(). Each is replaced atomically.
  absl::Status Commit();

 private:
  std::vector<TemporaryFile> files_;
};

// Writes `head` followed by `body` as FileReplacement does. A regular file is
// replaced atomically; if that fails, it is unchanged.
absl::Status WriteFile(const std::string& path, absl::string_view head,
                       absl::string_view body);
// Writes Printable(text), as WriteFile() does.
absl::Status WriteTextFile(const std::string& path, absl::string_view text);

// Checks that WriteFile() can currently write to `path`, without changing the
// file.
absl::Status CheckWritable(const std::string& path);

// Writes all of `bytes` to an open descriptor. `name` is used in messages.
// CANCELLED if the descriptor is a pipe whose read end is closed.
absl::Status WriteDescriptor(int descriptor, absl::string_view bytes,
                             const std::string& name);

}  // namespace locus::client
