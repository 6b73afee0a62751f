// Files in memory, for fuzz targets of code that reads files by name.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <string>

#include "tests/fuzz/check.h"

namespace locus::fuzz {

// An anonymous file (memfd_create) with the given content. The path is valid in
// this process, until the object is destroyed.
class MemoryFile {
 public:
  MemoryFile(const void* data, size_t size)
      : fd_(memfd_create("fuzz", MFD_CLOEXEC)) {
    Check(fd_ >= 0 && write(fd_, data, size) == static_cast<ssize_t>(size),
          "the file can be created");
  }
  ~MemoryFile() { close(fd_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  std::string path() const { return "/proc/self/fd/" + std::to_string(fd_); }

 private:
  const int fd_;
};

}  // namespace locus::fuzz
