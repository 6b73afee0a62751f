// Files, or standard input and output where the path is "-".
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace locus::client {

// Reads a file from its beginning to its end. Messages name the file.
class FileReader {
 public:
  static absl::StatusOr<FileReader> Open(const std::string& path);
  ~FileReader();
  FileReader(FileReader&& other) noexcept;
  FileReader(const FileReader&) = delete;
  FileReader& operator=(const FileReader&) = delete;

  // The next bytes, fewer only at the end of the file. Memory grows with what
  // arrives, not with what was asked for.
  absl::StatusOr<std::string> Read(int64_t byte_count);
  // The bytes that have not been read, where the system knows: it does for
  // regular files.
  std::optional<int64_t> RemainingBytes() const;
  // For messages: the path, or "standard input".
  const std::string& name() const { return name_; }

 private:
  FileReader(int descriptor, std::string name)
      : descriptor_(descriptor), name_(std::move(name)) {}

  int descriptor_;
  std::string name_;
};

// Writes the parts one after the other. A file appears complete or not at all,
// in place of one of that name. Messages name the file and the reason.
absl::Status WriteFile(const std::string& path, absl::string_view head,
                       absl::string_view body);

// Whether WriteFile could write there, now. Leaves everything as it is.
absl::Status CheckWritable(const std::string& path);

// Writes to an open descriptor until all is written. `name` is for messages.
// CANCELLED if it is a pipe that nobody reads any more.
absl::Status WriteDescriptor(int descriptor, absl::string_view bytes,
                             const std::string& name);

// Removes the file that WriteFile has begun, if there is one, in a process that
// is about to end. Safe in a signal handler.
void RemoveUnfinishedFile();

}  // namespace locus::client
