// A file that exists only in memory, for code that reads files by name.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <string>

#include "tests/fuzz/check.h"

namespace locus::fuzz {

class MemoryFile {
 public:
  MemoryFile(const void* data, size_t size)
      : fd_(memfd_create("fuzz", MFD_CLOEXEC)) {
    Check(fd_ >= 0 && write(fd_, data, size) == static_cast<ssize_t>(size),
          "there is memory for a file");
  }
  ~MemoryFile() { close(fd_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  std::string path() const { return "/proc/self/fd/" + std::to_string(fd_); }

 private:
  const int fd_;
};

}  // namespace locus::fuzz
