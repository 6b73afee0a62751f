// Reading and writing of files. The path "-" stands for standard input or
// output.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

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

// Writes `head` followed by `body`. A regular file is replaced atomically; a
// symbolic link is followed, and a device or pipe is written in place. Error
// messages name the file and the reason.
absl::Status WriteFile(const std::string& path, absl::string_view head,
                       absl::string_view body);

// Checks that WriteFile() can currently write to `path`, without changing the
// file.
absl::Status CheckWritable(const std::string& path);

// Writes all of `bytes` to an open descriptor. `name` is used in messages.
// CANCELLED if the descriptor is a pipe whose read end is closed.
absl::Status WriteDescriptor(int descriptor, absl::string_view bytes,
                             const std::string& name);

// Removes the temporary file of a WriteFile() call that is in progress, if any.
// For signal handlers that end the process; async-signal-safe.
void RemoveUnfinishedFile();

}  // namespace locus::client
