// Temporary files that replace other files.
#pragma once

#include <sys/types.h>

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace locus::client {

// An error with the message of errno: "<what> <name>: <message>".
absl::Status SystemError(absl::string_view what, absl::string_view name);

// The entry for one temporary file in a list that a signal handler can read.
struct UnfinishedFile;

// A file in the folder of its target. The destructor removes it unless MoveTo()
// has renamed it to the target.
class TemporaryFile {
 public:
  static absl::StatusOr<TemporaryFile> Create(const std::string& target);
  TemporaryFile(TemporaryFile&& other) noexcept;
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  ~TemporaryFile();

  int descriptor() const { return descriptor_; }

  // Makes the contents durable and closes the file. Call once, after the last
  // byte has been written.
  absl::Status Finish(mode_t mode);
  // Replaces the target. Call once, after Finish().
  absl::Status MoveToTarget();

 private:
  TemporaryFile(int descriptor, std::string path, std::string target);

  int descriptor_;
  // Empty once the file has been renamed.
  std::string path_;
  std::string target_;
  UnfinishedFile* unfinished_ = nullptr;
};

// Removes all temporary files that exist. For signal handlers that end the
// process; async-signal-safe.
void RemoveUnfinishedFiles();

}  // namespace locus::client
